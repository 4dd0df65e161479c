/** A matrix by name, put onto revisions, for `pr` and `compare`. Says what it leaves out. */
import { QualifyError } from '../errors.js';
import { loadMatrix } from '../matrix/load.js';
import type { Matrix } from '../matrix/schema.js';
import { withRevisions } from '../matrix/with-revisions.js';
import { note } from './output.js';

export const DEFAULT_MATRIX = 'prefill-short-pr';

export function revisionMatrix(
  name: string,
  revisions: readonly { name: string; revision: string }[],
): Matrix {
  const loaded = loadMatrix(name).matrix;
  if (loaded.simulation !== undefined) {
    throw new QualifyError(
      'ERR_QUALIFY_SIMULATED',
      `the matrix ${name} is simulated: no revision runs in it`,
      {
        exit: 'usage',
        hint: 'qualify simulate runs it; name a matrix of real engines here',
      },
    );
  }
  const { matrix, dropped } = withRevisions(loaded, revisions);
  if (dropped.length > 0) {
    note(
      `The arms of ${name} differ in ${dropped.join(', ')}; here only the revision differs, so that is left out.`,
    );
  }
  return matrix;
}
