/** A matrix by name, put onto revisions, for `pr` and `compare`. Says what it leaves out. */
import { loadMatrix } from '../matrix/load.js';
import type { Matrix } from '../matrix/schema.js';
import { withRevisions } from '../matrix/with-revisions.js';
import { note } from './output.js';

export const DEFAULT_MATRIX = 'prefill-short-pr';

export function revisionMatrix(
  name: string,
  revisions: readonly { name: string; revision: string }[],
): Matrix {
  const { matrix, dropped } = withRevisions(loadMatrix(name).matrix, revisions);
  if (dropped.length > 0) {
    note(
      `The arms of ${name} differ in ${dropped.join(', ')}; here only the revision differs, so that is left out.`,
    );
  }
  return matrix;
}
