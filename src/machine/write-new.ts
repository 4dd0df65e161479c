/** Writes a file that was not there before, whole or not at all, also when the harness is killed meanwhile. */
import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { link, lstat, open, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { explainDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { guardPath } from './guard.js';

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
export async function writeNewBy<T>(path: string, make: Make<T>): Promise<T> {
  // Before anything is made; the link below says it again.
  if ((await lstat(path).catch(() => null)) !== null) throw exists(path);
  // A link, unlike a rename, never takes the place of a file that came meanwhile.
  const place = async (partial: string): Promise<void> => {
    await link(partial, path);
    await rm(partial, { force: true });
  };
  return writeBeside(path, make, { place, explain: (error) => unwritable(path, error) });
}

type Make<T> = (write: (bytes: Uint8Array) => Promise<void>) => Promise<T>;

interface Placing {
  /** Brings the finished file to its path; nothing may stay where it was. */
  place: (partial: string, path: string) => Promise<void>;
  /** What the system's error at making, writing or placing it is to the user; absent, it stays what it is. */
  explain?: (error: unknown) => QualifyError;
  mode?: number;
}

/** As much of a name as leaves room for what is put around it: a file system bears 255 bytes. */
const startOf = (name: string): string =>
  Buffer.from(name)
    .subarray(0, 200)
    .toString()
    .replace(/\uFFFD+$/, '');

/** How the name of a file begins while it is made, beside where it is to be: hidden, and named after what it is to become. */
export const partialPrefix = (name: string): string => `.${startOf(name)}.partial-`;

/** Where a file is made before it is placed: hidden, named after what it is to become, and never the same twice. */
export const partialPath = (path: string): string =>
  join(dirname(resolve(path)), partialPrefix(basename(path)) + randomBytes(6).toString('hex'));

/** Makes a file whole beside its path and then places it. Of one that is not finished nothing stays, whatever ends the harness. */
export async function writeBeside<T>(
  path: string,
  make: Make<T>,
  { place, explain, mode = 0o644 }: Placing,
): Promise<T> {
  const rethrow = (error: unknown): never => {
    throw explain?.(error) ?? error;
  };
  const partial = partialPath(path);
  // Before the file is there: a signal may come in the same millisecond.
  const dismissGuard = guardPath(partial);
  try {
    const file = await open(partial, 'wx', mode).catch(rethrow);
    try {
      const made = await make((bytes) => file.writeFile(bytes).catch(rethrow));
      await file.sync().catch(rethrow);
      await place(partial, path).catch(rethrow);
      return made;
    } catch (error) {
      await rm(partial, { force: true });
      throw explainDiskFull(error, path);
    } finally {
      await file.close();
    }
  } finally {
    dismissGuard();
  }
}

/** What the system's error at making `path` is to the user. */
export function unwritable(path: string, cause: unknown): QualifyError {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'EEXIST' || code === 'ENOTEMPTY') return exists(path, cause);
  const full = explainDiskFull(cause, path);
  if (full instanceof QualifyError) return full;
  return new QualifyError('ERR_QUALIFY_UNWRITABLE', `${path} cannot be written (${code ?? String(cause)}).`, {
    exit: 'infrastructure',
    where: path,
    hint: 'Name a place that is there and that you may write to.',
    cause,
  });
}

/** What is said where something is in the way. */
export const exists = (path: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_EXISTS', `${path} is there already.`, {
    exit: 'usage',
    where: path,
    hint: 'Nothing is written over: give another name.',
    cause,
  });

/** The real place of a path whose last part need not exist. */
export function realPlace(path: string): string {
  try {
    return join(realpathSync(dirname(resolve(path))), basename(path));
  } catch {
    return resolve(path);
  }
}

/**
 * Refuses a file inside of the run folder, which a file more would make invalid, and the run itself. `run` may be an archive.
 * @throws QualifyError `ERR_QUALIFY_USAGE` (exit 64)
 */
export function requireOutside(file: string, run: string): void {
  const way = relative(realPlace(join(run, 'x')).slice(0, -2), realPlace(file));
  if (way === '')
    throw new QualifyError('ERR_QUALIFY_USAGE', `${file} is the run that is read`, {
      exit: 'usage',
      hint: 'Nothing is written in its place: name another file.',
    });
  if (way === '..' || way.startsWith(`..${sep}`)) return;
  throw new QualifyError('ERR_QUALIFY_USAGE', `${file} is inside of the run folder`, {
    exit: 'usage',
    hint: 'Its set of files is closed, and one more makes it invalid: name a file elsewhere.',
  });
}
