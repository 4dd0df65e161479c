/** Whether a run that is compared against a base could count, before somebody measures it. */
import { counted } from '../counted.js';
import { short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { shellWord } from '../shell-word.js';
import { commitsBehind } from './commits.js';
import { belowRoot, type PolicyOnDisk, type Tip } from './tip.js';

/**
 * Refuses a base (a full commit that a run will be compared against) that a gate with this policy would call moved, were it asked now.
 * @throws QualifyError `ERR_QUALIFY_BASE_MOVED` (exit 64), and what reading the repository throws (exit 64)
 */
export async function requireFreshBase(tip: Tip, file: PolicyOnDisk, base: string): Promise<void> {
  const { baseDrift, trust } = file.policy;
  const behind = await commitsBehind(tip.repository, base, tip.commit, [belowRoot(tip, file), trust]);
  if (behind !== null && behind <= baseDrift) return;
  const why =
    behind === null
      ? `The base ${short(base)} is no commit of ${tip.name}`
      : `The base ${short(base)} is ${counted(behind, 'commit')} behind ${tip.name}, and the policy allows ${baseDrift}`;
  throw new QualifyError('ERR_QUALIFY_BASE_MOVED', `${why}: no run of it would count (base-moved).`, {
    exit: 'usage',
    where: file.path,
    hint:
      behind === null
        ? `Give a base that ${tip.name} has: --base "$(git merge-base ${shellWord(tip.name)} HEAD_OF_THE_CHANGE)"`
        : 'Merge the branch into the change (or rebase the change), push, and ask for its new head.',
  });
}
