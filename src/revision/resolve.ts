/** From what a user calls a revision to what it is: a commit, the working tree as it stands, or a prebuilt folder. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { harnessFolder } from '../harness.js';
import type { Revision } from '../journal/entries.js';
import { commitAt, mainBranches } from './commit-at.js';
import { git, gitFailed, tryGit } from './git.js';
import { SOURCE_FOLDERS, sourceTreeDigest, TEST_FOLDERS } from './source-tree.js';

/** A revision whose sources are not looked at yet. */
export type Resolved =
  | { kind: 'commit'; requested: string; repository: string; commit: string }
  | { kind: 'tree'; requested: string; folder: string }
  | { kind: 'prebuilt'; requested: string; folder: string };

const PREBUILT = 'prebuilt:';

const holdsEngine = (folder: string): boolean =>
  SOURCE_FOLDERS.every((name) => existsSync(join(folder, name)));

/** Where the engine's sources are: the repository around `folder` when it holds an engine, else the harness's own. */
export async function engineRepository(folder: string): Promise<string> {
  const top = await tryGit(folder, 'rev-parse', '--show-toplevel');
  return top !== null && holdsEngine(top) ? top : harnessFolder;
}

/** The commit that a name stands for. */
async function commitOf(repository: string, name: string): Promise<string> {
  const commit = await commitAt(repository, name);
  if (commit === null) {
    throw gitFailed(
      `There is no revision "${name}" in ${repository}.`,
      'Give a branch, a tag or a commit of this repository (git fetch gets what others have), `worktree`, or `prebuilt:<folder>`.',
    );
  }
  return commit;
}

/**
 * @param requested `worktree`, `prebuilt:<folder>`, or what git can resolve in `repository`.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64)
 */
export async function resolveRevision(requested: string, repository: string): Promise<Resolved> {
  if (requested === 'worktree') return { kind: 'tree', requested, folder: repository };
  if (requested.startsWith(PREBUILT)) {
    return { kind: 'prebuilt', requested, folder: resolve(requested.slice(PREBUILT.length)) };
  }
  return { kind: 'commit', requested, repository, commit: await commitOf(repository, requested) };
}

/** Lines of `git status` about untracked or ignored files of build folders, which are no sources. */
const IN_BUILD_FOLDER = /^(\?\?|!!) (kernels|native)\/(.*\/)?build(-[^/]*)?\//;

/** Whether the engine's sources differ from the commit: changed, staged, untracked, or ignored and yet part of a build. */
async function isDirty(folder: string): Promise<boolean> {
  const status = await git(
    folder,
    ...['status', '--porcelain', '--untracked-files=all', '--ignored=matching', '--ignore-submodules=none'],
    ...['--', ...SOURCE_FOLDERS],
    ...TEST_FOLDERS.map((tests) => `:(exclude)${tests}`),
  );
  return status.split('\n').some((line) => line !== '' && !IN_BUILD_FOLDER.test(line));
}

/** What the working tree is: a commit when nothing differs from it, else a tree without one. */
export async function revisionOfTree(requested: string, folder: string): Promise<Revision> {
  const tree = await sourceTreeDigest(folder);
  const top = await tryGit(folder, 'rev-parse', '--show-toplevel');
  const commit =
    top === null ? null : await tryGit(folder, 'rev-parse', '--verify', '--quiet', 'HEAD^{commit}');
  // An installed package inside somebody's repository is not a revision of that repository.
  if (top === null || commit === null || resolve(top) !== resolve(folder)) {
    return { requested, commit: null, tree, dirty: false };
  }
  const dirty = await isDirty(folder);
  return { requested, commit: dirty ? null : commit, tree, dirty };
}

/**
 * Where a branch left main: the nearest merge base of `head` with any of the names main goes by, so that a stale local
 * `main` does not put other people's commits into the comparison.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) when there is no main, or `head` is on it.
 */
export async function mergeBaseWithMain(repository: string, head: string): Promise<string> {
  const headCommit = await commitOf(repository, head);
  const bases = await Promise.all(
    (await mainBranches(repository)).map(({ ref }) => tryGit(repository, 'merge-base', ref, headCommit)),
  );
  const found = [...new Set(bases.filter((base) => base !== null))];
  const distances = await Promise.all(
    found.map(async (base) => ({
      base,
      commits: Number(await git(repository, 'rev-list', '--count', `${base}..${headCommit}`)),
    })),
  );
  const [nearest] = distances.toSorted((a, b) => a.commits - b.commits);
  if (nearest === undefined) {
    throw gitFailed(`There is no main to find the merge base of ${head} with.`, 'Name the base: --base REF');
  }
  if (nearest.commits === 0) {
    throw gitFailed(
      `${head} is on main already, so it has no base to compare with.`,
      'Name the base: --base REF',
    );
  }
  return nearest.base;
}
