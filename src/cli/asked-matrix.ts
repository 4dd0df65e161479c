/** The matrix that a challenge asks for: the one that was named, else the one that the policy requires. */
import { join, relative } from 'node:path';
import { QualifyError } from '../errors.js';
import type { PolicyOnDisk } from '../gate/tip.js';
import type { Matrix } from '../matrix/schema.js';
import { tryGit } from '../revision/git.js';
import { loadRealMatrix } from './real-matrix.js';
import { DEFAULT_MATRIX } from './revision-matrix.js';

type PolicyFile = Pick<PolicyOnDisk, 'path' | 'policy'>;

interface AskedMatrix {
  /** As `--matrix` takes it. */
  name: string;
  matrix: Matrix;
}

/**
 * Without `named` the only one that the policy requires; without a policy the default.
 * @throws QualifyError `ERR_QUALIFY_CHALLENGE_MATRIX` (exit 64) for a matrix that the policy does not require, and where it requires several
 *   or one that cannot be loaded; those of `loadRealMatrix`
 */
export async function askedMatrix(named: string | undefined, file: PolicyFile | null): Promise<AskedMatrix> {
  if (file === null) return load(named ?? DEFAULT_MATRIX);
  const names = [...new Set(file.policy.require.map(({ matrix }) => matrix))];
  const asked = named === undefined ? await loadRequired(file, names) : load(named);
  if (names.includes(asked.matrix.name)) return asked;
  throw notAsked(
    file,
    `requires ${names.join(', ')}, not ${asked.matrix.name}: a gate would count no answer`,
    'Name one that it requires, a file where it is one: --matrix MATRIX',
  );
}

const load = (name: string): AskedMatrix => ({ name, matrix: loadRealMatrix(name) });

async function loadRequired(file: PolicyFile, names: readonly string[]): Promise<AskedMatrix> {
  const [required] = file.policy.require;
  if (names.length !== 1 || required === undefined)
    throw notAsked(file, `requires ${names.join(', ')}`, 'Say which is asked for: --matrix MATRIX');
  if (required.file === undefined) return load(required.matrix);
  const root = (await tryGit('.', 'rev-parse', '--show-toplevel')) ?? '.';
  try {
    return load(relative('.', join(root, required.file)));
  } catch (cause) {
    if (!(cause instanceof QualifyError) || cause.code !== 'ERR_QUALIFY_MATRIX_NOT_FOUND') throw cause;
    const lacking = `requires ${required.matrix}, of ${required.file}, which is not there`;
    throw notAsked(file, lacking, 'Name its file: --matrix FILE', cause);
  }
}

const notAsked = ({ path }: PolicyFile, why: string, hint: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_CHALLENGE_MATRIX', `${path} ${why}.`, {
    exit: 'usage',
    where: path,
    hint,
    cause,
  });
