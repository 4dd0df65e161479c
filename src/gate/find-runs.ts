/** Looks for runs in folders and verifies each in full. Nothing that it finds is left out of what it answers. */
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { INDEX_FILE, MANIFEST_FILE } from '../manifest/evidence-index.js';
import { NO_KEYS } from '../manifest/no-keys.js';
import { PLAN_FILE, VERDICT_FILE } from '../manifest/run-folder.js';
import { evidenceDigest } from '../manifest/statement.js';
import { withRunFolder } from '../manifest/unpack.js';
import { verifyRun } from '../manifest/verify.js';
import type { FoundRun, VerifiedRun } from './input.js';
import { refusedFor } from './refused-for.js';

/** A folder that has one of these says that it is a run. */
const SIGNS = [PLAN_FILE, VERDICT_FILE, INDEX_FILE, MANIFEST_FILE];
/** What `qualify pack` makes. */
const ARCHIVE = '.tar';
/** What may hold runs, and is not opened. */
const OTHER_ARCHIVE = /\.(tar|tar\.\w+|tgz|tbz2?|txz|tzst|zip|7z|rar|gz|bz2|xz|zst)$/i;
/** Folders below the one that is named: `manifests/2026/11/lab/run`. */
const DEPTH = 4;

/**
 * Every run at or below `folder`, in the order of their paths, and by the code `not-looked-at` what may hold more of them: links, folders
 * that lie too deep, archives that `qualify pack` does not make.
 * @throws QualifyError `ERR_QUALIFY_GATE_FOLDER` (exit 64) when there is no such folder
 */
export async function findRuns(folder: string): Promise<FoundRun[]> {
  if (!(await stat(folder).catch(() => null))?.isDirectory()) throw noFolder(folder, '--manifests');
  return runsBelow(folder, DEPTH);
}

export const noFolder = (folder: string, option: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_GATE_FOLDER', `${option}: there is no folder ${folder}`, {
    exit: 'usage',
    where: folder,
    hint: 'Name a folder that holds run folders, or waivers; one that is empty is fine.',
  });

async function runsBelow(folder: string, depth: number): Promise<FoundRun[]> {
  const found: FoundRun[] = [];
  if (await saysRun(folder)) {
    const own = await readRun(folder);
    // The set of files of a run that verifies is closed: there is no other run in it. One that does not may be there to hide others.
    if (own.run !== null) return [own];
    found.push(own);
  }
  const entries = await readdir(folder, { withFileTypes: true }).catch(unreadable);
  // It may hold a run, so that it is told, and not passed over.
  if (entries === null) return found.length > 0 ? found : [await readRun(folder)];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isSymbolicLink()) found.push(notLookedAt(path, 'it is a symbolic link'));
    else if (entry.isDirectory())
      if (depth > 0) found.push(...(await runsBelow(path, depth - 1)));
      else found.push(notLookedAt(path, `it lies more than ${DEPTH} folders deep`));
    else if (entry.isFile() && entry.name.endsWith(ARCHIVE)) found.push(await readRun(path));
    else if (OTHER_ARCHIVE.test(entry.name))
      found.push(notLookedAt(path, `it is no ${ARCHIVE} of qualify pack`));
  }
  return found;
}

async function saysRun(folder: string): Promise<boolean> {
  for (const sign of SIGNS) if (await lstat(join(folder, sign)).catch(() => null)) return true;
  return false;
}

const notLookedAt = (path: string, message: string): FoundRun => ({
  path,
  run: null,
  failure: { code: 'not-looked-at', message },
});

async function readRun(path: string): Promise<FoundRun> {
  try {
    return { path, run: await withRunFolder(path, verifiedRun), failure: null };
  } catch (error) {
    const refused = (code: string, message: string): FoundRun => ({
      path,
      run: null,
      failure: { code, message },
    });
    if (!(error instanceof QualifyError)) {
      unreadable(error);
      return refused('not-verified', `it cannot be read: ${error instanceof Error ? error.message : ''}`);
    }
    // A full disk of ours says nothing about a run of theirs.
    if (error.exit === 'infrastructure') throw error;
    return refused(
      error.code === 'ERR_QUALIFY_RUN_UNFINISHED' ? 'unfinished' : 'not-verified',
      refusedFor(path, error),
    );
  }
}

/** What somebody else's folder may be made to answer, which must not end the gate. */
const THEIRS = ['EACCES', 'EPERM', 'ELOOP', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ENOENT'];

/** Null for an error that is of what was read; throws every other one. */
export function unreadable(error: unknown): null {
  if (error instanceof Error && 'code' in error && THEIRS.includes(String(error.code))) return null;
  throw error;
}

async function verifiedRun(path: string): Promise<VerifiedRun> {
  const { statement, manifestSha256, record } = await verifyRun(path, { keyFolder: NO_KEYS });
  const { plan, verdict, machine } = record;
  // Every launch of a run that verifies was made in its own session, on its own machine.
  const digest = evidenceDigest(statement);
  return { digest, manifestSha256, kind: 'matched', statement, plan, verdict, machine };
}
