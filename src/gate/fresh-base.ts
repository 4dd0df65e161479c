/** Whether a run that is compared against a base could count, before somebody measures it. */
import { realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { counted } from '../counted.js';
import { short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { commitsBehind, headOf, repositoryAt } from './commits.js';
import { parsePolicy } from './policy-file.js';

interface BaseAsked {
  /** A folder of the repository. */
  folder: string;
  /** What a run will be compared against: a full commit. */
  base: string;
  /** The tip of the branch that the change is to be merged into: a name or a commit. */
  tip: string;
  policy: { path: string; bytes: Buffer };
}

/**
 * Refuses a base that a gate with this policy would call moved, were it asked now.
 * @throws QualifyError `ERR_QUALIFY_BASE_MOVED` (exit 64), and what reading policy and repository throws (exit 64)
 */
export async function requireFreshBase({ folder, base, tip, policy }: BaseAsked): Promise<void> {
  const { baseDrift, trust } = parsePolicy(policy.bytes, policy.path);
  const repository = await repositoryAt(folder);
  const path = relative(realpathSync(repository), realpathSync(resolve(policy.path)));
  const { commit } = await headOf(repository, tip);
  const behind = await commitsBehind(repository, base, commit, [path, trust]);
  if (behind !== null && behind <= baseDrift) return;
  const why =
    behind === null
      ? `The base ${short(base)} is no commit of ${tip}`
      : `The base ${short(base)} is ${counted(behind, 'commit')} behind ${tip}, and the policy allows ${baseDrift}`;
  throw new QualifyError('ERR_QUALIFY_BASE_MOVED', `${why}: no run of it would count (base-moved).`, {
    exit: 'usage',
    where: policy.path,
    hint:
      behind === null
        ? `Give a base that ${tip} has: --base "$(git merge-base ${tip} HEAD_OF_THE_CHANGE)"`
        : 'Merge the branch into the change (or rebase the change), push, and ask for its new head.',
  });
}
