/** Whether a plan is what a matrix makes, when nobody chose anything but the session's name, the seed and the revisions. Pure. */
import { matrixDigest } from '../matrix/digest.js';
import type { RevisionArm } from '../matrix/lever-off.js';
import type { Matrix } from '../matrix/schema.js';
import { withRevisions } from '../matrix/with-revisions.js';
import { buildPlan, fairVoidShareOf, planDigest } from './build.js';
import type { Plan } from './schema.js';

/** The matrix put onto the plan's own revisions, as `qualify pr` and `qualify compare` do. */
export function ontoRevisionsOf(plan: Plan, matrix: Matrix): Matrix {
  const own = plan.arms.filter(({ control }) => control !== 'null');
  const arms = own.map(
    ({ name, revision, switches, control }): RevisionArm =>
      control === 'lever-off' ? { name, revision, switches, control } : { name, revision },
  );
  return withRevisions(matrix, arms).matrix;
}

/**
 * True when the plan, with all that decides in it, comes out again from the matrix as it stands (`qualify run`) or put onto the plan's
 * revisions (`qualify pr`, `qualify compare`). A number of rounds, a choice of cells or a planted slowdown makes it false.
 */
export function followsFromMatrix(plan: Plan, matrix: Matrix): boolean {
  const made = [matrix, ontoRevisionsOf(plan, matrix)].find(
    (candidate) => matrixDigest(candidate) === plan.matrix.digest,
  );
  if (made === undefined) return false;
  const { session, seed, challenge } = plan;
  const options = { session, seed, voidShare: fairVoidShareOf(plan), ...(challenge && { challenge }) };
  return planDigest(buildPlan(made, options)) === planDigest(plan);
}
