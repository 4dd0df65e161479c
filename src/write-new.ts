/** Writes a file that was not there before, whole or not at all. */
import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { explainDiskFull } from './disk-full.js';
import { QualifyError } from './errors.js';

/**
 * Writes `text` into the new file `path`.
 * @throws QualifyError `ERR_QUALIFY_EXISTS` (exit 64) when something is there already, which stays as it is;
 * `ERR_QUALIFY_DISK_FULL` and `ERR_QUALIFY_UNWRITABLE` (15).
 */
export const writeNew = (path: string, text: string): Promise<void> =>
  writeNewBy(path, async (write) => {
    await write(Buffer.from(text));
  });

/** As `writeNew`, for what is made piece by piece: `make` gets the function that writes the next piece. */
export async function writeNewBy<T>(
  path: string,
  make: (write: (bytes: Uint8Array) => Promise<void>) => Promise<T>,
): Promise<T> {
  // Hidden, and named after what it was to become.
  const partial = join(dirname(path), `.${basename(path)}.partial-${randomBytes(6).toString('hex')}`);
  const file = await open(partial, 'wx', 0o644).catch((error: unknown) => {
    throw unwritable(path, error);
  });
  try {
    let made: T;
    try {
      made = await make((bytes) => file.writeFile(bytes));
      await file.sync();
    } catch (error) {
      throw explainDiskFull(error, path);
    } finally {
      await file.close();
    }
    // A link, unlike a rename, never takes the place of a file that came meanwhile.
    await link(partial, path).catch((error: unknown) => {
      throw unwritable(path, error);
    });
    return made;
  } finally {
    await rm(partial, { force: true });
  }
}

function unwritable(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'EEXIST') {
    return new QualifyError('ERR_QUALIFY_EXISTS', `${path} is there already.`, {
      exit: 'usage',
      where: path,
      hint: 'Nothing is written over. Give another name with --out.',
      cause,
    });
  }
  const full = explainDiskFull(cause, path);
  if (full instanceof QualifyError) return full;
  return new QualifyError('ERR_QUALIFY_UNWRITABLE', `${path} cannot be written (${code ?? String(cause)}).`, {
    exit: 'infrastructure',
    where: path,
    hint: 'Give a place that is there and that you may write to with --out.',
    cause,
  });
}
