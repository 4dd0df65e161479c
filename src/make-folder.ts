/** Makes folders step by step: `mkdir` of Node, told to be recursive, never ends below a place where none can be made. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { QualifyError } from './errors.js';

/**
 * Makes `path` and what is missing above it. A folder that is there already is fine.
 * @throws the system's error, such as ENOENT below `/proc`, EACCES, or ENOTDIR where a file is in the way.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at))
    missing.push(at);
  for (const folder of missing.reverse()) makeOne(folder);
}

/** Another process may have made it meanwhile. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder);
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
