/** The two ends of a bisection: what they are, and why they may be none. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256, short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { git, tryGit } from '../revision/git.js';
import { resolveRevision } from '../revision/resolve.js';
import { SOURCE_FOLDERS, TEST_FOLDERS } from '../revision/source-tree.js';

/** Commits that a search need not try are those that change none of these. */
export const ENGINE_PATHS: readonly string[] = [
  ...SOURCE_FOLDERS,
  ...TEST_FOLDERS.map((folder) => `:(exclude)${folder}`),
];

export interface Range {
  /** Full names of commits. */
  good: string;
  bad: string;
  /** Commits after good, up to bad, that change the engine. */
  commits: number;
  /** Where the two part; null when good is an ancestor of bad. */
  mergeBase: string | null;
}

const refuse = (message: string, hint: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_BISECT', message, { exit: 'usage', hint });

const SHALLOW = 'Get the whole history first: git fetch --unshallow';

/**
 * Digest of what a commit's engine is made of, by git's own names of the files: two commits with the same one are the same engine. Not
 * the digest of a build's tree, which is over contents.
 */
export async function sourcesOf(repository: string, commit: string): Promise<string> {
  const listed = await git(repository, 'ls-tree', '-r', '--full-tree', '-z', commit, '--', ...SOURCE_FOLDERS);
  const kept = listed
    .split('\0')
    .filter(
      (line) => !TEST_FOLDERS.some((folder) => line.slice(line.indexOf('\t') + 1).startsWith(`${folder}/`)),
    );
  return sha256(kept.join('\0'));
}

async function commitOf(repository: string, name: string): Promise<string> {
  const resolved = await resolveRevision(name, repository);
  if (resolved.kind === 'commit') return resolved.commit;
  throw refuse(`"${name}" is no commit.`, 'A bisection needs two commits: commit the change first.');
}

const isAncestor = async (repository: string, older: string, newer: string): Promise<boolean> =>
  (await tryGit(repository, 'merge-base', '--is-ancestor', older, newer)) !== null;

/** Commits whose parents this clone does not have. */
async function shallowCommits(repository: string): Promise<string[]> {
  const path = await git(repository, 'rev-parse', '--git-path', 'shallow');
  const text = await readFile(resolve(repository, path), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

async function mergeBaseOf(repository: string, good: string, bad: string, shallow: boolean): Promise<string> {
  if (await isAncestor(repository, bad, good))
    throw refuse(
      `BAD (${short(bad)}) is an ancestor of GOOD (${short(good)}): nothing that came after GOOD is between them.`,
      'Did you mix up the two? The older, faster one comes first: qualify bisect GOOD BAD',
    );
  const base = await tryGit(repository, 'merge-base', good, bad);
  if (base !== null) return base;
  throw refuse(
    'GOOD and BAD have no commit in common.',
    shallow ? SHALLOW : 'Give two commits of one history.',
  );
}

/**
 * Looks at both ends.
 * @throws QualifyError `ERR_QUALIFY_BISECT`, `ERR_QUALIFY_REVISION` (exit 64) when there is nothing to search.
 */
export async function findRange(repository: string, goodName: string, badName: string): Promise<Range> {
  const [good, bad] = [await commitOf(repository, goodName), await commitOf(repository, badName)];
  if (good === bad)
    throw refuse('GOOD and BAD are the same commit.', 'Give two commits, the faster one first.');
  const shallow = await shallowCommits(repository);
  const mergeBase = (await isAncestor(repository, good, bad))
    ? null
    : await mergeBaseOf(repository, good, bad, shallow.length > 0);
  const between = (await git(repository, 'rev-list', `${good}..${bad}`)).split('\n');
  const cut = shallow.find((commit) => between.includes(commit));
  if (cut !== undefined)
    throw refuse(
      `This clone is shallow: the history between GOOD and BAD is cut off at ${short(cut)}.`,
      SHALLOW,
    );
  if ((await sourcesOf(repository, good)) === (await sourcesOf(repository, bad)))
    throw refuse(
      'GOOD and BAD have the same engine sources.',
      'What differs between them is no part of the engine: look at the machine (qualify history --cell ID).',
    );
  const commits = Number(
    await git(repository, 'rev-list', '--count', `${good}..${bad}`, '--', ...ENGINE_PATHS),
  );
  return { good, bad, commits, mergeBase };
}

/** The first line of a commit's message. */
export async function subjectOf(repository: string, commit: string): Promise<string> {
  const text = await git(repository, 'rev-list', '--max-count=1', '--encoding=UTF-8', '--format=%s', commit);
  // The first line is `commit`, and its name.
  return text.slice(text.indexOf('\n') + 1);
}

/** Parents of a commit, the first one first. */
export async function parentsOf(repository: string, commit: string): Promise<string[]> {
  const text = await git(repository, 'rev-parse', `${commit}^@`);
  return text.split('\n').filter((parent) => parent !== '');
}
