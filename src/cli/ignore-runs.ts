/** `.qualify/` in a repository's `.gitignore`: runs and the history are of a machine, and no sources. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../machine/replace-file.js';

/** Where git reads what it is not to see, in the root of a repository. */
export const IGNORE_FILE = '.gitignore';

/** Every way to write it as a line of its own. */
const WRITTEN = /^\/?\.qualify\/?\s*$/m;

/** The file with the line at its end, whatever it is encoded in; null where it has one. */
function withRunsIgnored(file: Buffer): Buffer | null {
  const text = file.toString('latin1');
  if (WRITTEN.test(text)) return null;
  const line = `${text === '' || text.endsWith('\n') ? '' : '\n'}.qualify/\n`;
  return Buffer.concat([file, Buffer.from(line)]);
}

/**
 * Adds the line, in a new file where there is none. A link is refused: git does not follow it either.
 * @returns whether something was written
 * @throws where something else than an ordinary file is in its place; what the system or `replaceFile` says
 */
export async function ignoreRuns(root: string): Promise<boolean> {
  const path = join(root, IGNORE_FILE);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new Error('it is no ordinary file');
  const file = withRunsIgnored(found === undefined ? Buffer.alloc(0) : readFileSync(path));
  if (file === null) return false;
  await replaceFile(path, file, found === undefined ? 0o644 : found.mode & 0o777);
  return true;
}
