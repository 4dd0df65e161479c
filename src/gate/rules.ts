/**
 * The rules of a gate and where they come from: policy, trust and matrices of the base revision, never of the change, so that no change
 * can bring its own rules along.
 */
import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { sha256, short } from '../digest.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { builtInNames } from '../matrix/built-in.js';
import { loadMatrix } from '../matrix/load.js';
import { parseMatrix } from '../matrix/parse.js';
import type { Matrix } from '../matrix/schema.js';
import { fileAt } from '../revision/git.js';
import type { GateDecision } from './decision.js';
import type { GatePolicy, Requirement } from './policy.js';
import { parsePolicy, parseTrust, policyFailed } from './policy-file.js';

interface Rules {
  policy: GatePolicy;
  source: GateDecision['policy'];
  trust: TrustPolicy;
  /** Of each requirement, in order. */
  matrices: Matrix[];
}

interface RulesOptions {
  repository: string;
  /** Path of the policy below the repository's root. */
  path: string;
  baseCommit: string;
  /** Reads the working tree instead. */
  fromDisk: boolean;
}

/**
 * Reads the rules.
 * @throws QualifyError `ERR_QUALIFY_POLICY`, `ERR_QUALIFY_MATRIX_INVALID` (exit 64) that name file and place
 */
export async function readRules({ repository, path, baseCommit, fromDisk }: RulesOptions): Promise<Rules> {
  const read = async (file: string): Promise<{ bytes: Buffer; where: string }> => {
    if (isAbsolute(file) || file.split('/').includes('..'))
      throw policyFailed(file, 'is no path below the root of the repository');
    const where = fromDisk ? file : `${file} of ${short(baseCommit)}`;
    const bytes = await (fromDisk
      ? readFile(join(repository, file)).catch(() => null)
      : fileAt(repository, baseCommit, file));
    if (bytes === null) throw notThere(where, fromDisk);
    return { bytes, where };
  };
  const { bytes, where } = await read(path);
  const policy = parsePolicy(bytes, where);
  const trust = await read(policy.trust);
  const matrices: Matrix[] = [];
  for (const requirement of policy.require) matrices.push(await readMatrix(requirement, where, read));
  return {
    policy,
    source: {
      path,
      title: policy.title ?? null,
      trust: policy.trust,
      sha256: sha256(bytes),
      commit: fromDisk ? null : baseCommit,
    },
    trust: parseTrust(trust.bytes, trust.where),
    matrices,
  };
}

/** A matrix that is known by its name only would be whatever the one who measures calls so, budgets and all. */
async function readMatrix(
  { matrix: name, file }: Requirement,
  policy: string,
  read: (file: string) => Promise<{ bytes: Buffer; where: string }>,
): Promise<Matrix> {
  if (file === undefined) {
    if (builtInNames().includes(name)) return loadMatrix(name).matrix;
    const hint = `Name its file in the same revision (file: matrices/${name}.yaml).`;
    throw policyFailed(policy, `requires the matrix "${name}", which is not built in`, hint);
  }
  const { bytes, where } = await read(file);
  const matrix = parseMatrix(bytes.toString('utf8'), where);
  if (matrix.name !== name)
    throw policyFailed(where, `is the matrix "${matrix.name}", and "${name}" is required`);
  return matrix;
}

const notThere = (where: string, fromDisk: boolean) =>
  policyFailed(
    where,
    'is not there',
    fromDisk
      ? 'Name the policy with --policy, by its path below the root of the repository.'
      : 'A gate reads its rules from the base revision: merge them there first. To try rules out: --policy-from-disk',
  );
