/** What `verify` makes of `--challenge`: the challenge with its matrix, loaded only where it is given. */
import { short } from '../digest.js';
import { QualifyError } from '../errors.js';
import { readChallenge } from '../manifest/challenge-file.js';
import type { IssuedChallenge } from '../manifest/confirm-challenge.js';
import { builtInNames } from '../matrix/built-in.js';
import { matrixDigest } from '../matrix/digest.js';
import type { Matrix } from '../matrix/schema.js';
import type { Challenge } from '../plan/challenge.js';
import { loadRealMatrix } from './real-matrix.js';

export interface Flags {
  challenge?: string;
  matrix?: string;
}

/**
 * The challenge of `--challenge`; undefined without it. Its matrix is the one of `--matrix`, else the built-in one of its name.
 * @throws QualifyError (exit 64) `ERR_QUALIFY_CHALLENGE`, or `ERR_QUALIFY_CHALLENGE_MATRIX` when the matrix is not at hand in the version
 * that was asked for.
 */
export function issuedChallenge({ challenge: path, matrix: name }: Flags): IssuedChallenge | undefined {
  if (path === undefined) {
    if (name === undefined) return undefined;
    throw new QualifyError('ERR_QUALIFY_USAGE', '--matrix is the matrix of a challenge.', {
      exit: 'usage',
      hint: 'Give the challenge too: --challenge FILE.',
    });
  }
  const challenge = readChallenge(path);
  const isAtHand = name !== undefined || builtInNames().includes(challenge.matrix.name);
  const matrix = isAtHand ? loadRealMatrix(name ?? challenge.matrix.name) : null;
  if (matrix !== null && isAsked(matrix, challenge)) return { challenge, matrix };
  throw notAtHand(
    path,
    challenge,
    matrix === null ? 'that is not built in' : `${name ?? 'the built-in one'} is another`,
  );
}

/**
 * The name of the built-in matrix that a challenge asks for.
 * @throws QualifyError `ERR_QUALIFY_CHALLENGE_MATRIX` (exit 64) when none has that name: then it takes `--matrix`
 */
export function builtInAsked(path: string, challenge: Challenge): string {
  const { name } = challenge.matrix;
  if (builtInNames().includes(name)) return name;
  throw notAtHand(path, challenge, 'that is not built in');
}

const notAtHand = (path: string, { matrix: { name, digest } }: Challenge, why: string): QualifyError =>
  new QualifyError(
    'ERR_QUALIFY_CHALLENGE_MATRIX',
    `${path} asks for the matrix ${name} (sha256 ${short(digest)}), and ${why}.`,
    { exit: 'usage', where: path, hint: 'Give the file that the challenge was issued for: --matrix FILE.' },
  );

const isAsked = (matrix: Matrix, { matrix: { name, digest } }: Challenge): boolean =>
  matrix.name === name && matrixDigest(matrix) === digest;
