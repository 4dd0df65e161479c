/** A matrix of real engines by name. */
import { QualifyError } from '../errors.js';
import { loadMatrix } from '../matrix/load.js';
import type { Matrix } from '../matrix/schema.js';

/**
 * The matrix of that name or file.
 * @throws QualifyError `ERR_QUALIFY_SIMULATED` (exit 64) when its engines are simulated; those of `loadMatrix`.
 */
export function loadRealMatrix(name: string): Matrix {
  const { matrix } = loadMatrix(name);
  if (matrix.simulation === undefined) return matrix;
  throw new QualifyError('ERR_QUALIFY_SIMULATED', `the matrix ${name} is simulated: no engine runs in it`, {
    exit: 'usage',
    hint: 'qualify simulate runs it; name a matrix of real engines here',
  });
}
