/**
 * The rules of a gate and where they come from: policy, trust and matrices of the base revision, never of the change, so that no change
 * can bring its own rules along.
 */
import { readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { sha256, short } from '../digest.js';
import type { QualifyError } from '../errors.js';
import { realPlace } from '../machine/write-new.js';
import type { TrustPolicy } from '../manifest/trust-policy.js';
import { builtInNames } from '../matrix/built-in.js';
import { loadMatrix } from '../matrix/load.js';
import { parseMatrix } from '../matrix/parse.js';
import type { Matrix } from '../matrix/schema.js';
import { fileAt } from '../revision/git.js';
import { decodeUtf8 } from '../utf8.js';
import type { GateDecision } from './decision.js';
import type { GatePolicy, Requirement } from './policy.js';
import { parseTrust, policyFailed, type ReadPolicy, readPolicy } from './policy-file.js';
import { unsatisfiable } from './unsatisfiable.js';

export interface Rules {
  policy: GatePolicy;
  source: GateDecision['policy'];
  trust: TrustPolicy;
  /** Of each requirement, in order. */
  matrices: Matrix[];
  placeOf: ReadPolicy['placeOf'];
}

/** A file of the rules as it was read. */
interface RuleFile {
  bytes: Buffer;
  /** Names it in errors. */
  where: string;
}

/** Reads a file below the root. `named` is where the name stands, and by what field; absent for an option. */
type ReadFile = (file: string, named?: { place: string; field: string }) => Promise<RuleFile>;

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
  const read: ReadFile = async (file, named) => {
    const where = fromDisk ? file : `${file} of ${short(baseCommit)}`;
    const refused = (why: string, hint?: string): QualifyError =>
      named === undefined
        ? policyFailed(where, why, hint)
        : policyFailed(named.place, `${named.field}: ${where} ${why}`, hint);
    if (isAbsolute(file) || file.split('/').includes('..'))
      throw refused('is no path below the root of the repository', below(repository, file));
    const bytes = await (fromDisk
      ? readFile(join(repository, file)).catch(() => null)
      : fileAt(repository, baseCommit, file));
    if (bytes === null) throw refused('is not there', remedy(named?.field, fromDisk));
    return { bytes, where };
  };
  const { bytes, where } = await read(path);
  const { policy, placeOf } = readPolicy(bytes, where);
  const trust = await read(policy.trust, { place: placeOf('trust'), field: 'trust' });
  const matrices: Matrix[] = [];
  for (const [index, requirement] of policy.require.entries())
    matrices.push(await readMatrix(requirement, index, placeOf, read));
  requireSatisfiable(policy, matrices, placeOf);
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
    placeOf,
  };
}

/**
 * Paths of the files that rules of the working tree are read from, before they are; the policy alone where it is not there.
 * @throws QualifyError `ERR_QUALIFY_POLICY` (exit 64): nobody knows what a policy names that cannot be read
 */
export async function rulesOnDisk(repository: string, path: string): Promise<string[]> {
  const bytes = await readFile(join(repository, path)).catch(() => null);
  if (bytes === null) return [path];
  const { trust, require } = readPolicy(bytes, path).policy;
  return [path, trust, ...require.flatMap(({ file }) => file ?? [])];
}

/** A matrix that is known by its name only would be whatever the one who measures calls so, budgets and all. */
async function readMatrix(
  { matrix: name, file }: Requirement,
  index: number,
  placeOf: ReadPolicy['placeOf'],
  read: ReadFile,
): Promise<Matrix> {
  const place = (field: 'matrix' | 'file') => ({
    place: placeOf('require', index, field),
    field: `require.${index}.${field}`,
  });
  if (file === undefined) {
    if (builtInNames().includes(name)) return loadMatrix(name).matrix;
    const hint = `Name its file in the same revision (file: matrices/${name}.yaml).`;
    const named = place('matrix');
    throw policyFailed(named.place, `${named.field}: no matrix "${name}" is built in`, hint);
  }
  const named = place('file');
  const { bytes, where } = await read(file, named);
  const text = decodeUtf8(bytes);
  if (text === null)
    throw policyFailed(named.place, `${named.field}: ${where} is not UTF-8`, 'Save the file as UTF-8.');
  const matrix = parseMatrix(text, where);
  if (matrix.name !== name)
    throw policyFailed(
      named.place,
      `${named.field}: ${where} is the matrix "${matrix.name}", and "${name}" is required`,
      `Name the file of "${name}", or require "${matrix.name}".`,
    );
  return matrix;
}

/** Told now, not after hours of measuring. */
function requireSatisfiable(
  { require, challenge }: GatePolicy,
  matrices: readonly Matrix[],
  placeOf: ReadPolicy['placeOf'],
): void {
  for (const [index, matrix] of matrices.entries()) {
    const requirement = require[index];
    const found = requirement === undefined ? null : unsatisfiable(requirement, matrix, challenge);
    if (found === null) continue;
    const path = ['require', index, ...found.path];
    throw policyFailed(placeOf(...path), `${path.join('.')}: ${found.message}`, found.hint);
  }
}

/** `by`: the field of the policy that names the file; undefined for the option. */
function remedy(by: string | undefined, fromDisk: boolean): string {
  if (!fromDisk)
    return `A gate reads its rules from the base revision: merge the file there first, or name with ${by ?? '--policy'} one that is there. To try rules out: --policy-from-disk`;
  return by === undefined
    ? 'Name it with --policy, by its path below the root of the repository.'
    : `Put the file there, or write into ${by} where it is: its path below the root of the repository.`;
}

/** How a file is to be named instead: by its path below the root, where it lies there. */
function below(repository: string, file: string): string {
  const path = relative(realPlace(repository), realPlace(resolve(repository, file)));
  const isBelow = path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..';
  return isBelow
    ? `Name it by that path: ${path}`
    : 'A gate reads its rules from its own repository: put the file there, and name it by its path below the root.';
}
