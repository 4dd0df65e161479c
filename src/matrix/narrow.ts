/** A matrix narrowed to some of its cells: a quick look, which qualifies nothing and says so. Pure. */
import { QualifyError } from '../errors.js';
import { suggest } from '../suggest.js';
import { cellId } from './cell-id.js';
import type { Matrix } from './schema.js';

/**
 * Leaves the cells named, in the order of the matrix, and tells which are left out.
 * @throws QualifyError `ERR_QUALIFY_CELL` (exit 64) when the matrix has no cell of a name.
 */
export function narrow(
  matrix: Matrix,
  cells: readonly string[] | undefined,
): { matrix: Matrix; leftOut: string[] } {
  if (cells === undefined || cells.length === 0) return { matrix, leftOut: [] };
  const ids = matrix.cells.map(cellId);
  const unknown = cells.find((id) => !ids.includes(id));
  if (unknown !== undefined) {
    const near = suggest(unknown, ids);
    throw new QualifyError('ERR_QUALIFY_CELL', `${matrix.name} has no cell "${unknown}".`, {
      exit: 'usage',
      hint: near === undefined ? `Its cells: ${ids.join(', ')}` : `Did you mean "${near}"?`,
    });
  }
  return {
    matrix: { ...matrix, cells: matrix.cells.filter((cell) => cells.includes(cellId(cell))) },
    leftOut: ids.filter((id) => !cells.includes(id)),
  };
}
