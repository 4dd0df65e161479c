/** Writes the answer of a command to a file that the user names. */
import { lstat, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { explainDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { writeBeside } from '../machine/write-new.js';
import { makeFolder } from '../make-folder.js';
import { note } from './output.js';

/**
 * Whether there is a regular file.
 * @throws QualifyError `ERR_QUALIFY_EXISTS` (exit 64) for a link, a device or a folder
 */
export async function regularAt(path: string): Promise<boolean> {
  const there = await lstat(path).catch(() => null);
  if (there === null || there.isFile()) return there !== null;
  throw new QualifyError('ERR_QUALIFY_EXISTS', `${path} exists and is no regular file`, {
    exit: 'usage',
    hint: 'Name another file.',
  });
}

/**
 * Writes `text` whole or not at all, in place of a regular file that may be there; `inFolder` makes its folder, too.
 * @throws QualifyError `ERR_QUALIFY_EXISTS` (exit 64) for a link, a device or a folder; `ERR_QUALIFY_OUTPUT` (exit 15) when it cannot be written
 */
export async function writeAnswer(path: string, text: string, { inFolder = false } = {}): Promise<void> {
  await regularAt(path);
  const explain = (error: unknown): QualifyError => unanswerable(path, error);
  try {
    if (inFolder) makeFolder(dirname(path));
  } catch (error) {
    throw explain(error);
  }
  await writeBeside(path, (write) => write(Buffer.from(text)), { place: rename, explain });
  note(`Written: ${path}`);
}

function unanswerable(path: string, cause: unknown): QualifyError {
  const explained = explainDiskFull(cause, path);
  if (explained instanceof QualifyError) return explained;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new QualifyError('ERR_QUALIFY_OUTPUT', `${path} cannot be written: ${why}`, {
    exit: 'infrastructure',
    hint: 'See that its folder is there and may be written to.',
    cause,
  });
}
