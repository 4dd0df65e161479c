/** Brings the index up to what lies in the run folders: what held and did not change since is taken from it, the rest is verified. */
import { relative } from 'node:path';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import { readRegular } from '../manifest/evidence-index.js';
import { NO_KEYS } from '../manifest/no-keys.js';
import { parseJson, VERDICT_FILE } from '../manifest/run-folder.js';
import { verifyRun } from '../manifest/verify.js';
import { verdictSchema } from '../verdict/schema.js';
import { type ReadIndex, readIndex, writeIndex } from './index-file.js';
import { agrees, type GoodLine, lineOf, type RunLine, type Seen } from './run-line.js';
import { findRuns, stampOf } from './scan.js';

interface CollectOptions {
  /** Folder that paths of runs are told from. */
  root: string;
  /** Where the index is. */
  indexPath: string;
  /** Folders with run folders in them, or run folders. */
  folders: readonly string[];
  /** Check every run again, whatever the index has. */
  rebuild: boolean;
  /** Called before each run that is checked. */
  onProgress?: (folder: string, done: number, total: number) => void;
}

interface Collected {
  lines: RunLine[];
  /** How many runs were checked now. */
  checked: number;
  /** Lines of the index that could not be read; their runs were checked now. */
  unreadable: number;
  /** Why the index could not be written; null when it was. */
  notKept: string | null;
}

/** Words of the system for a folder that cannot be read. Anything else is a bug of ours. */
function systemCode(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error)
    return error.code;
  throw error;
}

async function check(seen: Seen, runFolder: string): Promise<RunLine> {
  try {
    return lineOf(seen, await verifyRun(runFolder, { keyFolder: NO_KEYS }));
  } catch (error) {
    // A full disk of ours says nothing about a run.
    if (error instanceof QualifyError && error.exit === 'infrastructure') throw error;
    const code = error instanceof QualifyError ? error.code : systemCode(error);
    return { ...seen, holds: false, code, message: (error as Error).message };
  }
}

/** Whether what the index has of a run is what its folder says. A line of a refused run says nothing that could be compared. */
async function isAsThere(line: RunLine, runFolder: string): Promise<boolean> {
  if (!line.holds) return true;
  try {
    return agrees(line, parseJson(VERDICT_FILE, await readRegular(runFolder, VERDICT_FILE), verdictSchema));
  } catch {
    return false;
  }
}

async function lookAt(
  runFolder: string,
  root: string,
  known: ReadonlyMap<string, GoodLine>,
  onCheck: () => void,
): Promise<{ line: RunLine; isNew: boolean }> {
  const folder = relative(root, runFolder);
  const seen = { schemaVersion: 1, folder, checkedBy: harnessVersion } as const;
  let stamp: string;
  try {
    stamp = await stampOf(runFolder);
  } catch (error) {
    const line = { ...seen, stamp: '0'.repeat(64), holds: false as const, code: systemCode(error) };
    return { line: { ...line, message: (error as Error).message }, isNew: true };
  }
  const before = known.get(folder);
  if (before?.stamp === stamp && before.checkedBy === harnessVersion && (await isAsThere(before, runFolder)))
    return { line: before, isNew: false };
  onCheck();
  const line = await check({ ...seen, stamp }, runFolder);
  // What changed while it was checked is checked again the next time.
  const after = await stampOf(runFolder).catch(() => null);
  return { line: after === stamp ? line : { ...line, stamp: '0'.repeat(64) }, isNew: true };
}

async function keep(path: string, lines: readonly GoodLine[]): Promise<string | null> {
  try {
    await writeIndex(path, lines);
    return null;
  } catch (error) {
    if (!(error instanceof QualifyError)) systemCode(error);
    return (error as Error).message;
  }
}

/** Every run below the folders, once each, in the order of their paths. The index is written where it changed. */
export async function collectRuns(options: CollectOptions): Promise<Collected> {
  const index: ReadIndex = options.rebuild ? { lines: [], unreadable: 0 } : readIndex(options.indexPath);
  const known = new Map(index.lines.map((line) => [line.folder, line]));
  const found = (await Promise.all(options.folders.map(findRuns))).flat();
  const lines: RunLine[] = [];
  let checked = 0;
  for (const [at, runFolder] of [...new Set(found)].entries()) {
    const { line, isNew } = await lookAt(runFolder, options.root, known, () =>
      options.onProgress?.(runFolder, at, found.length),
    );
    lines.push(line);
    if (isNew) checked += 1;
  }
  // Runs that were asked for another time stay in the index; a line too many is harmless, since only found folders are told of.
  const now = new Set(lines.map(({ folder }) => folder));
  const others = index.lines.filter(({ folder }) => !now.has(folder));
  const kept = [...lines.filter((line) => line.holds), ...others];
  const notKept = checked > 0 || index.unreadable > 0 ? await keep(options.indexPath, kept) : null;
  return { lines, checked, unreadable: index.unreadable, notKept };
}
