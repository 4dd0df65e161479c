/**
 * Which commit to try next, as `git bisect` says, in a worktree of its own: git keeps the state of a bisection by worktree, so that the user's
 * checkout, and a bisection that may be under way there, are not touched. With `--no-checkout` nothing is checked out from step to step.
 */
import { QualifyError } from '../errors.js';
import { callGit, git } from '../revision/git.js';
import { addWorktree } from '../revision/worktree.js';
import { sessionName } from '../session/run-folder.js';
import { ENGINE_PATHS, type Range } from './range.js';

/** How a commit was found to be. */
export type Mark = 'good' | 'bad' | 'skip';

/**
 * `try`: that one is next. `found`: the first bad commit. `range`: it is one of these, and all but the last could not be measured.
 * `older`: the merge base is bad already, so that good got rid of what is looked for, or never had it.
 */
export type Place =
  | { kind: 'try'; commit: string; stepsLeft: number | null }
  | { kind: 'found'; commit: string }
  | { kind: 'range'; commits: string[] }
  | { kind: 'older'; mergeBase: string };

export interface GitBisect {
  readonly first: Place;
  mark(commit: string, mark: Mark): Promise<Place>;
  /** Takes the worktree away, and the bisection with it. Safe to call twice. */
  end(): Promise<void>;
}

const NAME = '[0-9a-f]{40}(?:[0-9a-f]{24})?';

async function placeAfter(folder: string, ...args: string[]): Promise<Place> {
  const { exitCode, stdout, stderr } = await callGit(folder, 'bisect', ...args);
  if (exitCode === 3) {
    const [mergeBase] = new RegExp(NAME).exec(stderr) ?? [];
    if (mergeBase !== undefined) return { kind: 'older', mergeBase };
  }
  if (exitCode === 2) {
    const commits = [...stdout.matchAll(new RegExp(`^${NAME}$`, 'gm'))].map(([commit]) => commit);
    if (commits.length > 0) return { kind: 'range', commits };
  }
  if (exitCode !== 0)
    throw new QualifyError('ERR_QUALIFY_GIT', `git bisect ${args[0]} failed: ${stderr.trim()}`, {
      exit: 'infrastructure',
      where: folder,
    });
  const found = new RegExp(`^(${NAME}) is the first bad commit$`, 'm').exec(stdout)?.[1];
  if (found !== undefined) return { kind: 'found', commit: found };
  const steps = /\(roughly (\d+) steps?\)/.exec(stdout)?.[1];
  const commit = (await git(folder, 'rev-parse', '--verify', 'BISECT_HEAD')).trim();
  return { kind: 'try', commit, stepsLeft: steps === undefined ? null : Number(steps) };
}

/** Begins, between the ends of `range`. @throws QualifyError `ERR_QUALIFY_GIT` (exit 15) */
export async function startGitBisect(
  repository: string,
  { good, bad }: Range,
  firstParent: boolean,
): Promise<GitBisect> {
  // Never a name from before: the guard of a bisection that was killed may be about to take its worktree away.
  const worktree = await addWorktree(repository, good, `bisect-${sessionName(new Date())}`);
  try {
    const flags = ['--no-checkout', ...(firstParent ? ['--first-parent'] : [])];
    const first = await placeAfter(worktree.folder, 'start', ...flags, bad, good, '--', ...ENGINE_PATHS);
    return {
      first,
      mark: (commit, mark) => placeAfter(worktree.folder, mark, commit),
      end: () => worktree.remove(),
    };
  } catch (error) {
    await worktree.remove();
    throw error;
  }
}
