/** `.qualify/` in a repository's `.gitignore`: runs and the history are of a machine, and no sources. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../machine/replace-file.js';

export const IGNORE_FILE = '.gitignore';

/** Every way to write it as a line of its own. */
const WRITTEN = /^\/?\.qualify\/?\s*$/m;

/** The text with the line at its end; null where it has one. */
export function withRunsIgnored(text: string): string | null {
  if (WRITTEN.test(text)) return null;
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}.qualify/\n`;
}

/**
 * Adds the line, in a new file where there is none. A link is left alone: git does not follow it either.
 * @returns whether something was written
 * @throws what the system or `replaceFile` says
 */
export async function ignoreRuns(root: string): Promise<boolean> {
  const path = join(root, IGNORE_FILE);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) return false;
  const text = withRunsIgnored(found === undefined ? '' : readFileSync(path, 'utf8'));
  if (text === null) return false;
  await replaceFile(path, text, found === undefined ? 0o644 : found.mode & 0o777);
  return true;
}
