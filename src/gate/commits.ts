/** What git says of the commits that matter to a gate. */
import { short } from '../digest.js';
import type { Statement } from '../manifest/statement.js';
import { type Branch, commitAt, mainBranches } from '../revision/commit-at.js';
import { callGit, fileAt, gitFailed, tryGit } from '../revision/git.js';
import type { GateDecision } from './decision.js';
import { WAIVER_ENDING, WAIVERS_FOLDER } from './find-waivers.js';
import type { CommitFacts } from './input.js';
import { armsOf, commitOf, commitsOf, referenceOf } from './run-subject.js';

const treeAt = (repository: string, commit: string): Promise<string | null> =>
  tryGit(repository, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${commit}^{tree}`);

/** Top folder of the repository around `folder`. @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) */
export async function repositoryAt(folder: string): Promise<string> {
  const top = await tryGit(folder, 'rev-parse', '--show-toplevel');
  if (top === null)
    throw gitFailed(`${folder} is no git repository.`, 'A gate reads its rules from one: --repository DIR');
  return top;
}

/** Commit and tree of the change. @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) */
export async function headOf(repository: string, name: string): Promise<GateDecision['head']> {
  const commit = await commitAt(repository, name);
  const tree = commit === null ? null : await treeAt(repository, commit);
  if (commit === null || tree === null) throw noCommit(repository, name);
  return { commit, tree };
}

/** First line of a commit's message. */
export const subjectOf = async (repository: string, commit: string): Promise<string> =>
  (await tryGit(repository, 'show', '--no-patch', '--format=%s', '--end-of-options', commit)) ?? '';

type Base = GateDecision['base'] & { ref: string };

/** The first of these that is there. */
async function firstOf(repository: string, branches: readonly Branch[]): Promise<Base | null> {
  for (const { name, ref } of branches) {
    const commit = await commitAt(repository, ref);
    if (commit !== null) return { branch: name, commit, ref };
  }
  return null;
}

/** Whether the main branch is there, and has this file. */
export async function mainHas(repository: string, path: string): Promise<boolean> {
  const main = await firstOf(repository, await mainBranches(repository));
  return main !== null && (await fileAt(repository, main.commit, path)) !== null;
}

/**
 * The base by name, or the main branch as the remote has it. `ref` is what git is to be asked about: of the main branch its name in full.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64)
 */
export async function baseOf(repository: string, name: string | undefined): Promise<Base> {
  const branches = name === undefined ? await mainBranches(repository) : [{ name, ref: name }];
  const base = await firstOf(repository, branches);
  if (base !== null) return base;
  if (name !== undefined) throw noCommit(repository, name);
  throw gitFailed(
    `There is no main branch in ${repository}.`,
    'Name the base: --base REF; or have git ask the remote which it is: git remote set-head origin --auto',
  );
}

/**
 * The branch that `name` is by name, without its remote: `main` of `origin/main` and `refs/heads/main`. Null for a commit, a tag, and what
 * only leads to a branch (`HEAD`): none of them says where a change is to be merged.
 */
export async function branchOf(repository: string, name: string): Promise<string | null> {
  const full = await tryGit(
    repository,
    ...['rev-parse', '--verify', '--quiet', '--symbolic-full-name', '--end-of-options', name],
  );
  const [, local, remote] = /^refs\/(?:heads\/(.+)|remotes\/[^/]+\/(.+))$/.exec(full ?? '') ?? [];
  const branch = local ?? remote;
  return branch !== undefined && (name === branch || name.endsWith(`/${branch}`)) ? branch : null;
}

const noCommit = (repository: string, name: string) =>
  gitFailed(
    `There is no commit "${name}" in ${repository}.`,
    'git fetch gets what others have; a checkout in CI needs the whole history (fetch-depth: 0).',
  );

/**
 * The facts of every commit that some statements name. Commits of the base branch that touch nothing but `rules` (files below the
 * root that a gate reads) and waivers do not put a run behind: no engine is another for them.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) in a shallow clone where a run of head is of another base: commits that are not
 *   there would not be counted
 */
export async function factsOf(
  repository: string,
  statements: readonly Statement[],
  base: string,
  head: string,
  rules: readonly string[],
): Promise<Map<string, CommitFacts>> {
  const isElsewhere = (statement: Statement): boolean =>
    commitOf(referenceOf(statement)) !== base && armsOf(statement, (commit) => commit === head).length > 0;
  if (statements.some(isElsewhere)) await requireHistory(repository);
  const facts = new Map<string, CommitFacts>();
  for (const commit of new Set(statements.flatMap(commitsOf)))
    facts.set(commit, await factsAt(repository, commit, { base, head, rules }));
  return facts;
}

async function factsAt(
  repository: string,
  commit: string,
  { base, head, rules }: { base: string; head: string; rules: readonly string[] },
): Promise<CommitFacts> {
  const tree = await treeAt(repository, commit);
  if (tree === null) return { tree, behindBase: null, isInHead: false };
  const isIn = async (of: string): Promise<boolean> =>
    (await tryGit(repository, 'merge-base', '--is-ancestor', commit, of)) !== null;
  const behind = (await isIn(base)) ? await countBehind(repository, commit, base, rules) : null;
  return { tree, behindBase: behind, isInHead: await isIn(head) };
}

/**
 * The tree of `commit` merged onto `base`; null when they conflict, when one of them is not here, and for a git before 2.38. Git keeps the
 * tree as an object that nothing names.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) where git may not store it
 */
export async function mergedTree(repository: string, base: string, commit: string): Promise<string | null> {
  const merge = ['merge-tree', '--write-tree', '--no-messages', '--end-of-options', base, commit];
  const { exitCode, stdout, stderr } = await callGit(repository, ...merge);
  if (exitCode === 0) return stdout.trim();
  // Not a conflict: silence would be taken for one.
  if (/permission|unable to (create|write)|No space left|Read-only/i.test(stderr))
    throw gitFailed(
      `git cannot store the merge of ${short(commit)} in ${repository}: ${stderr.split('\n')[0]}`,
      'A waiver may hold for a merge of its change; to find out, let the gate write objects there.',
    );
  return null;
}

/** @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) in a shallow clone */
async function requireHistory(repository: string): Promise<void> {
  if ((await tryGit(repository, 'rev-parse', '--is-shallow-repository')) === 'false') return;
  throw gitFailed(
    'This clone is shallow, so that how far the base of a run is behind cannot be counted.',
    'git fetch --unshallow; in a workflow: fetch-depth: 0',
  );
}

/**
 * By how many commits that count `commit` is behind `tip`, one of its descendants, as a gate with these `rules` (files below the root) has it.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) in a shallow clone
 */
export async function commitsBehind(
  repository: string,
  commit: string,
  tip: string,
  rules: readonly string[],
): Promise<number | null> {
  await requireHistory(repository);
  const isIn = (await tryGit(repository, 'merge-base', '--is-ancestor', commit, tip)) !== null;
  return isIn ? countBehind(repository, commit, tip, rules) : null;
}

/** By how many commits `commit` is behind, of those that touch more than `rules` and waivers. Trees decide whether it is at all: git counts no merge that took one side. */
async function countBehind(
  repository: string,
  commit: string,
  base: string,
  rules: readonly string[],
): Promise<number | null> {
  const paths = ['--', ...pathsBut(rules)];
  const diff = ['diff-tree', '--quiet', '-r', '--ignore-submodules=none', commit, base, ...paths];
  if ((await tryGit(repository, ...diff)) !== null) return 0;
  const range = `${commit}..${base}`;
  const count = await tryGit(repository, 'rev-list', '--count', '--full-history', range, ...paths);
  return count === null ? null : Math.max(1, Number(count));
}

/** Git's words for everything below the root but waivers and these files. */
const pathsBut = (files: readonly string[]): string[] => [
  ':(top)',
  `:(top,exclude,glob)${WAIVERS_FOLDER}/*${WAIVER_ENDING}`,
  ...files.map((path) => `:(top,exclude,literal)${path}`),
];
