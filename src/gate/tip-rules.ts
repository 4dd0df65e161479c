/** Whether policy and matrix of a question are those of the branch, before somebody measures an answer. */
import { realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { sha256, short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { matrixDigest } from '../matrix/digest.js';
import type { Matrix } from '../matrix/schema.js';
import { headOf, repositoryAt } from './commits.js';
import { policyFailed } from './policy-file.js';
import { readRules } from './rules.js';

interface Question {
  /** A folder of the repository. */
  folder: string;
  /** The tip of the branch that the change is to be merged into: a name or a commit. */
  tip: string;
  policy: { path: string; bytes: Buffer };
  matrix: Matrix;
}

/**
 * Refuses a question whose answer a gate with the rules of the tip would call `other-challenge`.
 * @throws QualifyError `ERR_QUALIFY_POLICY`, `ERR_QUALIFY_CHALLENGE_MATRIX` (exit 64), and what reading rules and repository throws (exit 64)
 */
export async function requireRulesOfTip({ folder, tip, policy, matrix }: Question): Promise<void> {
  const repository = await repositoryAt(folder);
  const path = relative(realpathSync(repository), realpathSync(resolve(policy.path)));
  const { commit } = await headOf(repository, tip);
  const { source, matrices } = await readRules({ repository, path, baseCommit: commit, fromDisk: false });
  const own = sha256(policy.bytes);
  if (own !== source.sha256)
    throw policyFailed(
      policy.path,
      `is not the policy of ${tip} (sha256 ${short(own)}, there ${short(source.sha256)}): a gate would count no answer (other-challenge)`,
      `Merge the policy first, or ask by the one that is there: git restore --source ${tip} ${path}`,
    );
  const digest = matrixDigest(matrix);
  if (matrices.some((required) => required.name === matrix.name && matrixDigest(required) === digest)) return;
  throw new QualifyError(
    'ERR_QUALIFY_CHALLENGE_MATRIX',
    `${matrix.name} (sha256 ${short(digest)}) is not the one that the policy of ${tip} requires: a gate would count no answer (other-challenge).`,
    { exit: 'usage', hint: 'Merge the matrix first, or ask for the one that is there.' },
  );
}
