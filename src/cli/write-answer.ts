/** Writes the answer of a command to a file that the user names. */
import { realpathSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { explainDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { writeFileWhole } from '../manifest/write-file-whole.js';
import { note } from './output.js';

/** The real place of a path whose last part need not exist. */
export function realPlace(path: string): string {
  try {
    return join(realpathSync(dirname(resolve(path))), basename(path));
  } catch {
    return resolve(path);
  }
}

/**
 * Refuses a file inside of the run folder, which a file more would make invalid.
 * @throws QualifyError `ERR_QUALIFY_USAGE` (exit 64)
 */
export function requireOutside(file: string, runFolder: string): void {
  const way = relative(realPlace(join(runFolder, 'x')).slice(0, -2), realPlace(file));
  if (way === '..' || way.startsWith(`..${sep}`)) return;
  throw new QualifyError('ERR_QUALIFY_USAGE', `${file} is inside of the run folder`, {
    exit: 'usage',
    hint: 'Its set of files is closed, and one more makes it invalid: name a file elsewhere.',
  });
}

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
  try {
    if (inFolder) makeFolder(dirname(path));
    await writeFileWhole(path, text, 0o644);
  } catch (error) {
    const explained = explainDiskFull(error, path);
    if (explained instanceof QualifyError) throw explained;
    const why = error instanceof Error ? error.message : String(error);
    throw new QualifyError('ERR_QUALIFY_OUTPUT', `${path} cannot be written: ${why}`, {
      exit: 'infrastructure',
      hint: 'See that its folder is there and may be written to.',
      cause: error,
    });
  }
  note(`Written: ${path}`);
}
