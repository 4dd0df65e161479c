/** Whether a file is git's to keep: one that a repository tracks, or one of a repository itself. */
import { existsSync } from 'node:fs';
import { basename, dirname, relative, resolve, sep } from 'node:path';
import { realPlace } from '../machine/write-new.js';
import { callGit } from './git.js';

/**
 * Why git loses something when a file is written in place of `path`, as the end of a sentence; null when it does not. Whatever repository
 * or worktree the path lies in is asked; the file need not be there.
 * @throws QualifyError as `callGit`
 */
export async function keptByGit(path: string): Promise<string | null> {
  const place = realPlace(path);
  if ([resolve(path), place].some((one) => one.split(sep).includes('.git')))
    return 'is or lies in a .git folder';
  let folder = dirname(place);
  // The nearest that is there and is a folder.
  while (!existsSync(`${folder}${sep}.`)) folder = dirname(folder);
  const name = relative(folder, place);
  // A bare repository, and one whose folder is kept elsewhere, have other names.
  const inside = await callGit(folder, 'rev-parse', '--is-inside-git-dir');
  if (inside.exitCode !== 0 && inside.stderr.includes('not a git repository')) return null;
  if (inside.stdout === 'true') return 'lies in the folder of a git repository';
  const tracked = await callGit(folder, '--literal-pathspecs', 'ls-files', '-z', '--', name);
  // As of a repository whose owner is another.
  if (tracked.exitCode !== 0)
    return `lies where git cannot say whether it tracks ${basename(place)} (${tracked.stderr.trim()})`;
  // A folder of that name has its files listed; it is no file that would be replaced.
  return tracked.stdout.split('\0').includes(name) ? 'is a file which git tracks' : null;
}
