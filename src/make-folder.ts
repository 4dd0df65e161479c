/** Makes folders step by step: `mkdir` of Node, told to be recursive, never ends below a place where none can be made. */
import { mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { explainDiskFull } from './disk-full.js';
import { QualifyError } from './errors.js';

/**
 * Makes `path` and what is missing above it, with a mode that the umask narrows. A folder that is there already is fine, and stays as it is.
 * @throws the system's error, such as ENOENT below `/proc`, EACCES, or ENOTDIR where a file is in the way.
 */
export function makeFolder(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = path; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at))
    missing.push(at);
  for (const folder of missing.reverse()) makeOne(folder, mode);
}

/** Another process may have made it meanwhile. */
function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** `makeFolder` for what can be made again, with a remedy. @throws ERR_QUALIFY_CACHE (exit 15) */
export function makeCacheFolder(path: string): void {
  try {
    makeFolder(path);
  } catch (cause) {
    throw new QualifyError('ERR_QUALIFY_CACHE', `Cannot make the folder ${path} for builds and models.`, {
      exit: 'infrastructure',
      hint: 'Set XDG_CACHE_HOME to a folder that you may write to.',
      where: (cause as NodeJS.ErrnoException).message,
      cause,
    });
  }
}

/** Makes a new folder below `TMPDIR`, whose name begins with `prefix`, for this user only. @throws ERR_QUALIFY_TEMPORARY (exit 15) */
export const makeTemporaryFolder = (prefix: string): string =>
  temporary(() => mkdtempSync(join(tmpdir(), prefix)));

/** Does what makes something below `TMPDIR`. @throws ERR_QUALIFY_TEMPORARY (exit 15) with the remedy, for what the system says */
export function temporary<T>(make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    const cause = explainDiskFull(thrown);
    if (cause instanceof QualifyError) throw cause;
    throw new QualifyError('ERR_QUALIFY_TEMPORARY', `No folder can be made below ${tmpdir()}.`, {
      exit: 'infrastructure',
      hint: 'Set TMPDIR to a folder that you may write to.',
      where: (cause as NodeJS.ErrnoException).message,
      cause,
    });
  }
}
