/** One past run as the history keeps it: a line of the index. Everything in it was drawn from a run folder that verified. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { launchesOf, observe } from '../analysis/observations.js';
import { summaryOf } from '../analysis/summary.js';
import { canonicalDigest } from '../digest.js';
import type { RunRecord } from '../manifest/run-folder.js';
import { evidenceDigest } from '../manifest/statement.js';
import type { Verification } from '../manifest/verify.js';
import { NULL_ARM, phaseSchema } from '../matrix/schema.js';
import { type Plan, sha256Schema } from '../plan/schema.js';
import { rounded } from '../verdict/rounded.js';
import {
  armSummarySchema,
  type CellVerdict,
  comparisonSchema,
  effectSchema,
  type Verdict,
  verdictNameSchema,
} from '../verdict/schema.js';

/** Retained samples of an arm, in tok/s. */
const rateSchema = armSummarySchema.pick({ n: true, median: true, mad: true });

const lineCellSchema = z.strictObject({
  id: z.string(),
  promptTokens: z.int(),
  chunk: z.int(),
  phase: phaseSchema,
  generatedTokens: z.int(),
  required: z.boolean(),
  verdict: verdictNameSchema,
  /** Digest of all that the rate of the base arm depends on besides machine, model and build: workload, samples, switches, threads. */
  conditions: sha256Schema,
  /** Null when a proof is missing. */
  base: rateSchema.nullable(),
  /** The base once more from a second build; null without a null arm, or when a proof is missing. */
  null: rateSchema.nullable(),
  compared: z.array(
    comparisonSchema.pick({ arm: true, verdict: true, detail: true }).extend({
      rate: rateSchema.nullable(),
      effect: effectSchema
        .pick({ deltaPercent: true, ratio: true, lower: true, upper: true, rounds: true })
        .nullable(),
    }),
  ),
});

/** Where a run lies, and what it was when it was looked at. */
const seenSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** Path from the folder that the index belongs to. */
  folder: z.string(),
  /** Digest over manifest, and names, sizes and times of all files: a folder that changed is checked again. */
  stamp: sha256Schema,
  /** Version of qualify that checked it; another one checks it again. */
  checkedBy: z.string(),
});

export const goodLineSchema = seenSchema.extend({
  holds: z.literal(true),
  session: z.string(),
  startedAt: z.iso.datetime(),
  /** Version of qualify that measured. */
  harness: z.string(),
  simulated: z.boolean(),
  /** Percent by which arms were slowed down on purpose, the largest of them; null where none was. */
  plantedPercent: z.number().positive().nullable(),
  matrix: z.strictObject({ name: z.string(), digest: sha256Schema }),
  machineId: sha256Schema,
  kernel: z.string(),
  /** SHA-256 of the model file; null when the session did not get so far. */
  model: sha256Schema.nullable(),
  clock: z.enum(['wall', 'cpu']),
  /** What `conditions` of a cell is over, but for the cell, as words: to say in what two series differ. */
  settings: z.record(z.string(), z.string()),
  /** Digest over sources, recipe and toolchain of the base arm; null when it was not built. */
  baseBuild: sha256Schema.nullable(),
  baseCommit: z.string().nullable(),
  result: verdictNameSchema,
  exitCode: z.int(),
  /** SHA-256 of `evidence.sha256`: two folders with the same one are copies of one run. */
  evidence: sha256Schema,
  signer: z.string(),
  cells: z.array(lineCellSchema),
});

export type Seen = z.infer<typeof seenSchema>;
export type GoodLine = z.infer<typeof goodLineSchema>;

/** A run folder of which nothing is believed. Never kept: it is checked again the next time, since what was in the way may be gone. */
export interface BadLine extends Seen {
  holds: false;
  code: string;
  message: string;
}

export type RunLine = GoodLine | BadLine;
export type LineCell = z.infer<typeof lineCellSchema>;
type Rate = z.infer<typeof rateSchema>;

const rateOf = (summary: Rate | null | undefined): Rate | null =>
  summary ? { n: summary.n, median: summary.median, mad: summary.mad } : null;

/** See `conditions` of a cell. The revision of the arm is left out: its build is compared by itself. */
function conditionsOf({ arms, engine, protocol }: Plan, cell: CellVerdict): string {
  const { promptTokens, chunk, phase, generatedTokens } = cell;
  const { warmups, samples, clock } = protocol;
  const [base] = arms;
  return canonicalDigest({
    cell: { promptTokens, chunk, phase, generatedTokens },
    protocol: { warmups, samples, clock },
    engine,
    base: { engine: base?.engine, switches: base?.switches, arguments: base?.arguments },
  });
}

/** See `settings` of a line. */
function settingsOf({ arms, engine, protocol }: Plan): Record<string, string> {
  const { warmups, samples } = protocol;
  const [base] = arms;
  const settings = {
    warmups,
    samples,
    ...engine,
    engine: base?.engine,
    arguments: base?.arguments.join(' '),
  };
  return {
    ...Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value ?? null),
      ]),
    ),
    ...base?.switches,
  };
}

function cellOf({ plan, entries }: RunRecord, cell: CellVerdict): LineCell {
  const { id, promptTokens, chunk, phase, generatedTokens, required, verdict } = cell;
  const base = rateOf(cell.arms[plan.arms[0]?.name ?? '']);
  const planned = plan.cells.find((one) => one.id === id);
  const launches = launchesOf(observe(entries), NULL_ARM, Number.POSITIVE_INFINITY);
  const again =
    base === null || planned === undefined ? null : summaryOf(planned, launches, plan.protocol.clock);
  return {
    ...{ id, promptTokens, chunk, phase, generatedTokens, required, verdict },
    conditions: conditionsOf(plan, cell),
    base,
    // As verdicts round their numbers.
    null: again && rateSchema.parse(rounded(rateOf(again))),
    compared: cell.comparisons.map(({ arm, verdict, detail, effect }) => ({
      ...{ arm, verdict, detail },
      rate: rateOf(cell.arms[arm]),
      effect: effect && {
        deltaPercent: effect.deltaPercent,
        ratio: effect.ratio,
        lower: effect.lower,
        upper: effect.upper,
        rounds: effect.rounds,
      },
    })),
  };
}

function plantedOf({ arms }: Plan): number | null {
  const planted = arms.flatMap(({ plantedSlowdownPercent }) => plantedSlowdownPercent ?? []);
  return planted.length === 0 ? null : Math.max(...planted);
}

/** The line of a run that stood up to every check. */
export function lineOf(seen: Seen, { statement, record, signer }: Verification): GoodLine {
  const { predicate } = statement;
  const build = predicate.arms[0]?.build;
  return {
    ...seen,
    holds: true,
    session: predicate.session,
    startedAt: predicate.startedAt,
    harness: predicate.harness.version,
    simulated: predicate.simulation !== undefined,
    plantedPercent: plantedOf(record.plan),
    matrix: { name: predicate.matrix.name, digest: predicate.matrix.digest.sha256 },
    machineId: predicate.machine.id,
    kernel: predicate.machine.kernel,
    model: predicate.model?.digest.sha256 ?? null,
    clock: predicate.protocol.clock,
    settings: settingsOf(record.plan),
    baseBuild: build?.buildDigest ?? null,
    baseCommit: build?.revision.commit ?? null,
    result: predicate.result,
    exitCode: predicate.exitCode,
    evidence: evidenceDigest(statement),
    signer: signer.key.keyId,
    cells: record.verdict.cells.map((cell) => cellOf(record, cell)),
  };
}

/** Whether a line of the index says what the verdict in the folder does: session, matrix, result, and what became of each cell. */
export const agrees = (line: GoodLine, verdict: Verdict): boolean =>
  isDeepStrictEqual(
    [line.session, line.matrix, line.result, line.exitCode, line.cells.map(factsOf)],
    [
      verdict.session,
      { name: verdict.matrix.name, digest: verdict.matrix.digest },
      verdict.result,
      verdict.exitCode,
      verdict.cells.map(factsOf),
    ],
  );

const factsOf = ({ id, required, verdict }: LineCell | CellVerdict) => [id, required, verdict];
