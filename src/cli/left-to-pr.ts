/** Arms of a matrix whose revision `qualify pr` puts in: what to measure instead, and where to go. */
import { QualifyError } from '../errors.js';
import type { Matrix } from '../matrix/schema.js';
import { commitAt } from '../revision/commit-at.js';
import { shellPath } from '../shell-word.js';

/** Names that stand for what `qualify pr` compares, where an arm and its revision have the same one. */
const PLACES: readonly string[] = ['base', 'head'];

/** Names of those arms; what is a revision of `repository` is one, whatever it is called. */
async function armsLeftToPr({ arms }: Matrix, repository: string): Promise<string[]> {
  const places = Object.entries(arms).flatMap(([name, arm]) =>
    arm.engine === 'embedded' && arm.revision === name && PLACES.includes(name) ? [name] : [],
  );
  const found = await Promise.all(places.map((name) => commitAt(repository, name)));
  return places.filter((_, at) => found[at] === null);
}

/**
 * For what needs one build and asks nothing about revisions: the matrix with the working tree in the place of what `qualify pr` puts in.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) for a name of a tag and a branch
 */
export async function onWorktree(
  matrix: Matrix,
  repository: string,
): Promise<{ matrix: Matrix; left: string[] }> {
  const left = await armsLeftToPr(matrix, repository);
  const arms = Object.entries(matrix.arms).map(([name, arm]): [string, Matrix['arms'][string]] => [
    name,
    left.includes(name) ? { ...arm, revision: 'worktree' } : arm,
  ]);
  return { matrix: { ...matrix, arms: Object.fromEntries(arms) }, left };
}

/** What to say where `onWorktree` put the working tree in. */
export const worktreeNotice = (name: string, left: readonly string[]): string =>
  `${name} leaves the revision of ${left.join(' and ')} to qualify pr; here the working tree is measured.`;

/**
 * Refuses to run a matrix as it stands when it leaves revisions open.
 * @throws QualifyError `ERR_QUALIFY_REVISION` (exit 64) naming the command that puts them in
 */
export async function refuseLeftToPr(name: string, matrix: Matrix, repository: string): Promise<void> {
  const left = await armsLeftToPr(matrix, repository);
  if (left.length === 0) return;
  throw new QualifyError(
    'ERR_QUALIFY_REVISION',
    `${name} leaves the revision of ${left.join(' and ')} to qualify pr: ${repository} has none of that name.`,
    {
      exit: 'usage',
      where: name,
      hint: `Compare a change with what it is to be merged into: qualify pr --matrix ${shellPath(name)}`,
    },
  );
}
