/** The folder of one run: made new, never into another run's. */
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { QualifyError } from '../errors.js';
import { makeFolder } from '../make-folder.js';

/** `20261129-213005-3fa9c1`: sorts by time, and is a name that the plan allows. */
export function sessionName(now: Date, random: string = randomBytes(3).toString('hex')): string {
  const [date, time] = now.toISOString().slice(0, 19).replace(/[-:]/g, '').split('T');
  return `${date}-${time}-${random}`;
}

/**
 * Makes `out`, or `.qualify/runs/<session>` below `folder`. Answers the absolute path.
 * @throws QualifyError `ERR_QUALIFY_RUN_FOLDER` (exit 64) when something is there already, (15) when it cannot be made.
 */
export function makeRunFolder(session: string, out: string | undefined, folder: string): string {
  const path = resolve(folder, out ?? `.qualify/runs/${session}`);
  try {
    makeFolder(path);
  } catch (cause) {
    throw new QualifyError('ERR_QUALIFY_RUN_FOLDER', `Cannot make the run folder ${path}.`, {
      exit: 'infrastructure',
      hint: 'Name a place that you may write to with --out.',
      where: (cause as NodeJS.ErrnoException).message,
      cause,
    });
  }
  requireEmpty(path);
  return path;
}

/** Asked again once the folder is locked: another session may have come in between. @throws ERR_QUALIFY_RUN_FOLDER (exit 64) */
export function requireEmpty(path: string): void {
  if (statSync(path).isDirectory() && readdirSync(path).length === 0) return;
  throw new QualifyError('ERR_QUALIFY_RUN_FOLDER', `The run folder ${path} is not empty.`, {
    exit: 'usage',
    hint: 'A run never writes over another. Name a new place with --out.',
  });
}
