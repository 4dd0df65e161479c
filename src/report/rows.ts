/** The rows of every table: one comparison in one cell, the losing one first. */
import {
  type ArmSummary,
  type CellVerdict,
  type Comparison,
  type Verdict,
  verdictNames,
} from '../verdict/schema.js';

export interface Row {
  cell: CellVerdict;
  comparison: Comparison;
  /** Undefined in a refused comparison: nothing unproved is shown. */
  base: ArmSummary | undefined;
  head: ArmSummary | undefined;
}

/**
 * Worst verdict first; among equal ones the slower first, then the order of the matrix. Of an ablation only what is refused: an arm
 * of it by itself is no answer to anything.
 */
export function rowsOf(verdict: Verdict): Row[] {
  const rows = verdict.cells.flatMap((cell) =>
    cell.comparisons
      .filter(({ effect }) => verdict.ablation === undefined || effect === null)
      .map((comparison): Row => {
        const shown = comparison.effect !== null;
        return {
          cell,
          comparison,
          base: shown ? cell.arms[comparison.against] : undefined,
          head: shown ? cell.arms[comparison.arm] : undefined,
        };
      }),
  );
  const rank = ({ comparison }: Row): number => verdictNames.indexOf(comparison.verdict);
  const speed = ({ comparison }: Row): number => comparison.effect?.ratio ?? 0;
  return rows.toSorted((a, b) => rank(b) - rank(a) || speed(a) - speed(b));
}
