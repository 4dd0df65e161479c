/** Reads the parts of a run folder that follow from each other: plan, journal, verdict. Strict, and by the bytes given. */
import type { z } from 'zod';
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import type { Entry } from '../journal/entries.js';
import { parseJournal } from '../journal/read.js';
import { type Fingerprint, fingerprintSchema } from '../machine/fingerprint.js';
import { type Plan, planSchema } from '../plan/schema.js';
import { renderMarkdown } from '../report/markdown.js';
import { type Verdict, verdictSchema } from '../verdict/schema.js';
import { invalid } from './invalid.js';
import { parseStrictJson } from './strict-json.js';

export const PLAN_FILE = 'plan.json';
export const JOURNAL_FILE = 'journal.jsonl';
export const VERDICT_FILE = 'verdict.json';
export const REPORT_FILE = 'report.md';
/** What was observed; all of it is listed in the index. */
export const EVIDENCE_FOLDER = 'evidence';
/** The machine of the session; written before the first line of the journal, which points at it. */
export const MACHINE_FILE = `${EVIDENCE_FOLDER}/machine.json`;

const MAXIMUM_BYTES = 256 * 1024 * 1024;
const MAXIMUM_DEPTH = 32;

/** What a run decided beforehand, and saw. */
interface SeenRun {
  plan: Plan;
  entries: Entry[];
  /** What the journal's first line points at. */
  machine: Fingerprint;
}

/** The same, and what it concluded. */
export interface RunRecord extends SeenRun {
  verdict: Verdict;
}

/** Parses the files. `read` gives the bytes of a file of the run folder. */
export async function readRecord(read: (path: string) => Promise<Buffer>): Promise<RunRecord> {
  const seen = await readSeen(read);
  return { ...seen, verdict: parseJson(VERDICT_FILE, await read(VERDICT_FILE), verdictSchema) };
}

/** Parses what a session writes before its verdict; see `readRecord`. */
export async function readSeen(read: (path: string) => Promise<Buffer>): Promise<SeenRun> {
  const plan = parseJson(PLAN_FILE, await read(PLAN_FILE), planSchema);
  const entries = readEntries(await read(JOURNAL_FILE));
  return { plan, entries, machine: await readMachine(entries, read) };
}

/** Parses one JSON file by its schema. Throws a `QualifyError` (exit `invalid`) that names file and field. */
export function parseJson<T>(file: string, bytes: Buffer, schema: z.ZodType<T>): T {
  const value = parseStrictJson(bytes, { file, maximumBytes: MAXIMUM_BYTES, maximumDepth: MAXIMUM_DEPTH });
  return conform(schema, value, (faults) => invalid(file, `does not fit its schema:${faults}`));
}

/** The bytes of `report.md`: the session writes them and `verify` renders them again. */
export const renderReport = ({ plan, entries, machine, verdict }: RunRecord): string =>
  renderMarkdown(verdict, { plan, entries, machine });

async function readMachine(
  entries: readonly Entry[],
  read: (path: string) => Promise<Buffer>,
): Promise<Fingerprint> {
  const [session] = entries;
  if (session?.kind !== 'session') throw invalid(JOURNAL_FILE, 'does not begin with a session');
  const { path } = session.machine;
  const machine = parseJson(path, await read(path), fingerprintSchema);
  if (machine.id !== session.machineId)
    throw invalid(path, 'describes another machine than the journal names');
  return machine;
}

function readEntries(bytes: Buffer): Entry[] {
  try {
    return parseJournal(bytes.toString('utf8'), JOURNAL_FILE);
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    throw invalid(error.where ?? JOURNAL_FILE, `breaks a rule of journals: ${error.message}`, error);
  }
}
