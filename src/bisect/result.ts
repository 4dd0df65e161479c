/**
 * What a bisection came to: `bisect.json`, from which the text is made. Written when the first session begins and after each commit, so
 * that a killed one tells what it had, and can be found again.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { EXIT } from '../exit-codes.js';
import { replaceFileSync } from '../machine/replace-file.js';
import { sha256Schema } from '../plan/schema.js';

const BISECT_FILE = 'bisect.json';

/** Results of a bisection that did not come to its end: it can go on. */
const UNFINISHED: ReadonlySet<string> = new Set<BisectResult>(['running', 'interrupted', 'broken']);

const outcomeSchema = z.enum(['good', 'bad', 'undecided', 'refused']);

/** A commit that was compared with the base. */
const triedSchema = z.strictObject({
  commit: z.string(),
  subject: z.string(),
  base: z.string(),
  outcome: outcomeSchema,
  word: z.string(),
  effect: z
    .strictObject({
      deltaPercent: z.number(),
      lowerPercent: z.number().nullable(),
      upperPercent: z.number().nullable(),
    })
    .nullable(),
  reason: z.string().nullable(),
  /** The commit with the same engine sources whose outcome this is; null when it was measured. */
  sameAs: z.string().nullable(),
  /** One session, or two when the first did not decide; paths from the folder of the bisection. */
  runs: z.array(z.string()),
  seconds: z.number(),
});

/**
 * `confirmed`: the culprit is slower than its parent beyond the budget, in a session of its own. `not-confirmed`: it is not, as when
 * many commits add up. `range`: one of some commits that cannot be measured. `older`: the merge base is slower than good already.
 * `no-slowdown`: bad passes against good. `undecided`, `refused`: so is bad against good. `interrupted`, `broken`: it did not come to its end.
 */
const bisectResultSchema = z.enum([
  'confirmed',
  'not-confirmed',
  'range',
  'older',
  'no-slowdown',
  'undecided',
  'refused',
  'interrupted',
  'broken',
  'running',
]);

export const bisectionSchema = z.strictObject({
  schemaVersion: z.literal(1),
  id: z.string(),
  startedAt: z.iso.datetime(),
  harness: z.string(),
  matrix: z.strictObject({ name: z.string(), digest: sha256Schema }),
  cell: z.string(),
  marginPercent: z.number(),
  /** `--rounds`; null without. Absent in what older versions wrote. */
  rounds: z.int().nullable().optional(),
  firstParent: z.boolean(),
  good: z.string(),
  bad: z.string(),
  mergeBase: z.string().nullable(),
  /** Commits between them that change the engine. */
  commits: z.int(),
  result: bisectResultSchema,
  exitCode: z.int(),
  /** The first bad commit and its parents; null when it is not known. */
  culprit: z
    .strictObject({ commit: z.string(), subject: z.string(), parents: z.array(z.string()) })
    .nullable(),
  /** When the culprit is one of these. */
  range: z.array(z.string()).nullable(),
  /** In order; the first is bad itself. */
  tried: z.array(triedSchema),
  /** The culprit against its first parent. */
  confirmation: triedSchema.nullable(),
  /** Sessions that were measured before an interruption, and verified before they counted; absent where there was none. */
  reused: z.array(z.string()).min(1).optional(),
  /** What ended it early, in words. */
  failure: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  seconds: z.number(),
  /** How much of it other sessions had the machine. */
  waitedSeconds: z.number(),
});

export type Tried = z.infer<typeof triedSchema>;
export type BisectResult = z.infer<typeof bisectResultSchema>;
export type Bisection = z.infer<typeof bisectionSchema>;

/** Exit codes of results that are not another command's. */
export const BISECT_EXIT: Readonly<Record<Exclude<BisectResult, 'refused' | 'broken'>, number>> = {
  confirmed: EXIT.pass,
  'not-confirmed': EXIT.inconclusive,
  range: EXIT.inconclusive,
  older: EXIT.inconclusive,
  'no-slowdown': EXIT.inconclusive,
  undecided: EXIT.inconclusive,
  interrupted: EXIT.notMeasured,
  running: EXIT.notMeasured,
};

export const isUnfinished = ({ result }: Bisection): boolean => UNFINISHED.has(result);

/** The bisection of a folder; null where there is none that this version reads. */
export function readBisection(folder: string): Bisection | null {
  try {
    return bisectionSchema.parse(JSON.parse(readFileSync(join(folder, BISECT_FILE), 'utf8')));
  } catch {
    return null;
  }
}

/** Writes `bisect.json`, whole or not at all. */
export function writeBisection(folder: string, bisection: Bisection): void {
  const text = `${JSON.stringify(bisectionSchema.parse(bisection), null, 2)}\n`;
  replaceFileSync(join(folder, BISECT_FILE), text);
}
