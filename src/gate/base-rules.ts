/** The rules of the branch that a change is to be merged into. */

import { shellWord } from '../shell-word.js';
import { baseOf, branchOf } from './commits.js';
import type { GateDecision } from './decision.js';
import { policyFailed } from './policy-file.js';
import { type Rules, readRules } from './rules.js';

interface BaseOptions {
  /** Top folder of the repository. */
  repository: string;
  /** Path of the policy below it. */
  policy: string;
  /** Absent for the main branch. */
  base?: string;
  /** Takes the files of the working tree instead. */
  fromDisk?: boolean;
}

/** Where a change is to be merged, and what a gate reads there. */
export interface BaseRules {
  base: GateDecision['base'];
  rules: Rules;
}

/** Finds the base and reads its rules. @throws QualifyError (exit 64) for a base that is not there, rules that cannot be read, and rules that are of another branch */
export async function readBaseRules({
  repository,
  policy,
  base: named,
  fromDisk = false,
}: BaseOptions): Promise<BaseRules> {
  const { ref, ...base } = await baseOf(repository, named);
  const rules = await readRules({ repository, path: policy, baseCommit: base.commit, fromDisk });
  const branch = await branchOf(repository, ref);
  if (branch === null || branch === rules.policy.base) return { base, rules };
  const said = named === undefined ? base.branch : `--base ${base.branch}`;
  throw policyFailed(
    rules.placeOf('base'),
    `base: the rules are for merges into "${rules.policy.base}", not into "${branch}" (${said})`,
    `Say which base is meant: --base ${shellWord(`origin/${rules.policy.base}`)}; or write base: ${branch} into the policy of that branch.`,
  );
}
