/** `.qualify/` in a repository's `.gitignore`: runs and the history are of a machine, and no sources. */
import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../machine/replace-file.js';
import { callGit } from '../revision/git.js';

/** Where git reads what it is not to see, in the root of a repository. */
export const IGNORE_FILE = '.gitignore';

/** Every way to write it as a line of its own, and some that git does not take for one. */
const WRITTEN = /^\/?\.qualify\/?\s*$/m;

/** A line about the folder, or about what is in it. The line at the end would undo what such lines except. */
const SPOKEN_OF = /^!?(?:\*\*)?\/?\.qualify(?:\/|\s*$)/m;

/** Whether git leaves a run out, by all that it reads and whatever it has been told to track; false too where it cannot say. */
async function areRunsIgnored(root: string): Promise<boolean> {
  const { exitCode } = await callGit(root, 'check-ignore', '-q', '--no-index', '.qualify/runs/x');
  return exitCode === 0;
}

/** The file with the line at its end, whatever it is encoded in. */
function withRunsIgnored(text: string, file: Buffer): Buffer {
  const line = `${text === '' || text.endsWith('\n') ? '' : '\n'}.qualify/\n`;
  return Buffer.concat([file, Buffer.from(line)]);
}

/** `there`: git ignores runs by it. `left`: the file has other lines of its own about the folder, and stays as it is. */
type Ignored = 'added' | 'there' | 'left';

/**
 * Adds the line, in a new file where there is none. A link is refused: git does not follow it either.
 * @throws where something else than an ordinary file is in its place; what the system, `callGit` or `replaceFile` says
 */
export async function ignoreRuns(root: string): Promise<Ignored> {
  const path = join(root, IGNORE_FILE);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new Error('it is no ordinary file');
  const file = found === undefined ? Buffer.alloc(0) : readFileSync(path);
  const text = file.toString('latin1');
  if (WRITTEN.test(text) && (await areRunsIgnored(root))) return 'there';
  if (SPOKEN_OF.test(text)) return 'left';
  const mode = found === undefined ? 0o644 : found.mode & 0o777;
  await replaceFile(path, withRunsIgnored(text, file), mode);
  return 'added';
}
