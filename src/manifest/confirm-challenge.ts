/** Holds a run that was verified against a challenge that was really issued. */
import type { QualifyError } from '../errors.js';
import { matrixDigest } from '../matrix/digest.js';
import type { Matrix } from '../matrix/schema.js';
import type { Challenge } from '../plan/challenge.js';
import { followsFromMatrix } from '../plan/from-matrix.js';
import type { Plan } from '../plan/schema.js';
import { invalid } from './invalid.js';
import { firstJsonDifference } from './json-difference.js';
import { PLAN_FILE } from './run-folder.js';

/** A challenge as its issuer kept it, with the matrix whose digest it has. */
export interface IssuedChallenge {
  challenge: Challenge;
  matrix: Matrix;
}

/**
 * Throws a `QualifyError` (exit `invalid`) unless the plan answers this challenge in every field, by the whole of this matrix. That the
 * run does what its plan says of the challenge is `verifyRun`'s to check.
 */
export function confirmChallenge(plan: Plan, { challenge, matrix }: IssuedChallenge): void {
  if (plan.challenge === undefined) throw unasked('answers no challenge: it chose its own seed');
  const difference = firstJsonDifference(plan.challenge, challenge);
  if (difference !== null) throw unasked(`answers another challenge: ${difference}`);
  if (matrixDigest(matrix) !== challenge.matrix.digest)
    throw invalid(PLAN_FILE, `cannot be held against its challenge by this matrix ${matrix.name}`);
  if (!followsFromMatrix(plan, matrix)) {
    throw invalid(
      PLAN_FILE,
      `does not follow from the matrix ${matrix.name} that the challenge asks for: cells, protocol, budgets or arms are others`,
    );
  }
}

/** The run may be as good as any, and is no answer to what was asked. */
const unasked = (why: string): QualifyError =>
  invalid(
    PLAN_FILE,
    why,
    undefined,
    'The run is no answer to this challenge, whatever else it shows: ask for one (qualify pr --challenge FILE), or leave --challenge out.',
  );
