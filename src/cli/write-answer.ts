/** Writes the answer of a command to a file that the user names. */
import { lstat, open, rename, rm } from 'node:fs/promises';
import { explainDiskFull } from '../disk-full.js';
import { QualifyError } from '../errors.js';
import { note } from './output.js';

/**
 * Writes `text` whole or not at all, in place of a regular file that may be there.
 * @throws QualifyError `ERR_QUALIFY_EXISTS` (exit 64) for a link, a device or a folder; `ERR_QUALIFY_OUTPUT` (exit 15) when it cannot be written
 */
export async function writeAnswer(path: string, text: string): Promise<void> {
  const there = await lstat(path).catch(() => null);
  if (there !== null && !there.isFile())
    throw new QualifyError('ERR_QUALIFY_EXISTS', `${path} exists and is no regular file`, {
      exit: 'usage',
      hint: 'Name another file.',
    });
  const draft = `${path}.${process.pid}.draft`;
  try {
    const file = await open(draft, 'wx', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    const explained = explainDiskFull(error, path);
    if (explained instanceof QualifyError) throw explained;
    const why = error instanceof Error ? error.message : String(error);
    throw new QualifyError('ERR_QUALIFY_OUTPUT', `${path} cannot be written: ${why}`, {
      exit: 'infrastructure',
      hint: 'See that its folder is there and may be written to.',
      cause: error,
    });
  } finally {
    await rm(draft, { force: true });
  }
  note(`Written: ${path}`);
}
