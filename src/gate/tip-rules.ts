/** Whether policy and matrix of a question are those of the branch, before somebody measures an answer. */
import { sha256, short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { matrixDigest } from '../matrix/digest.js';
import type { Matrix } from '../matrix/schema.js';
import { shellPath, shellWord } from '../shell-word.js';
import { policyFailed } from './policy-file.js';
import { readRules } from './rules.js';
import { belowRoot, type PolicyOnDisk, type Tip } from './tip.js';

/**
 * Refuses a question whose answer a gate with the rules of the tip would call `other-challenge`.
 * @throws QualifyError `ERR_QUALIFY_POLICY`, `ERR_QUALIFY_CHALLENGE_MATRIX` (exit 64), and what reading rules and repository throws (exit 64)
 */
export async function requireRulesOfTip(tip: Tip, file: PolicyOnDisk, matrix: Matrix): Promise<void> {
  const path = belowRoot(tip, file);
  const { source, matrices } = await readRules({
    repository: tip.repository,
    path,
    baseCommit: tip.commit,
    fromDisk: false,
  });
  const own = sha256(file.bytes);
  if (own !== source.sha256)
    throw policyFailed(
      file.path,
      `is not the policy of ${tip.name} (sha256 ${short(own)}, there ${short(source.sha256)}): a gate would count no answer (other-challenge)`,
      `Merge the policy first, or ask by the one that is there: git restore --source ${shellWord(tip.name)} ${shellPath(path)}`,
    );
  const digest = matrixDigest(matrix);
  if (matrices.some((required) => required.name === matrix.name && matrixDigest(required) === digest)) return;
  throw new QualifyError(
    'ERR_QUALIFY_CHALLENGE_MATRIX',
    `${matrix.name} (sha256 ${short(digest)}) is not the one that the policy of ${tip.name} requires: a gate would count no answer (other-challenge).`,
    { exit: 'usage', hint: 'Merge the matrix first, or ask for the one that is there.' },
  );
}
