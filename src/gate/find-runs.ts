/** Looks for runs in folders and verifies each in full. Nothing that it finds is left out of what it answers. */
import { randomUUID } from 'node:crypto';
import { lstat, readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { INDEX_FILE, MANIFEST_FILE } from '../manifest/evidence-index.js';
import { PLAN_FILE, VERDICT_FILE } from '../manifest/run-folder.js';
import { verifyRun } from '../manifest/verify.js';
import type { FoundRun, VerifiedRun } from './input.js';

/** A folder that has one of these says that it is a run. */
const SIGNS = [PLAN_FILE, VERDICT_FILE, INDEX_FILE, MANIFEST_FILE];
/** Folders below the one that is named: `manifests/2026/run`. */
const DEPTH = 2;

/**
 * Every run at or below `folder`, in the order of their paths.
 * @throws QualifyError `ERR_QUALIFY_GATE_FOLDER` (exit 64) when there is no such folder
 */
export async function findRuns(folder: string): Promise<FoundRun[]> {
  if (!(await stat(folder).catch(() => null))?.isDirectory()) throw noFolder(folder, '--manifests');
  const found: FoundRun[] = [];
  for (const path of await runPaths(folder, DEPTH)) found.push(await readRun(path));
  return found;
}

export const noFolder = (folder: string, option: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_GATE_FOLDER', `${option}: there is no folder ${folder}`, {
    exit: 'usage',
    where: folder,
    hint: 'Name a folder that holds run folders, or waivers; one that is empty is fine.',
  });

async function runPaths(folder: string, depth: number): Promise<string[]> {
  for (const sign of SIGNS) if (await lstat(join(folder, sign)).catch(() => null)) return [folder];
  if (depth === 0) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  const paths: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    if (entry.isDirectory()) paths.push(...(await runPaths(join(folder, entry.name), depth - 1)));
  return paths;
}

async function readRun(path: string): Promise<FoundRun> {
  try {
    return { path, run: await verifiedRun(path), failure: null };
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    const code = error.code === 'ERR_QUALIFY_RUN_UNFINISHED' ? 'unfinished' : 'not-verified';
    return { path, run: null, failure: { code, message: error.message } };
  }
}

/** No key of the one who runs the gate says anything here: who may sign is the trust policy's to say. */
const NO_KEYS = join(tmpdir(), `no-keys-${randomUUID()}`);

async function verifiedRun(path: string): Promise<VerifiedRun> {
  const { statement, record } = await verifyRun(path, { keyFolder: NO_KEYS });
  const [first] = statement.subject;
  if (first === undefined || !('sha256' in first.digest))
    throw new Error('A verified run without its index.');
  const { plan, verdict, machine } = record;
  // Every launch of a run that verifies was made in its own session, on its own machine.
  return { digest: first.digest.sha256, kind: 'matched', statement, plan, verdict, machine };
}
