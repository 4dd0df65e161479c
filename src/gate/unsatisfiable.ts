/** What a policy requires that no run of its matrix can show. Pure. */
import { counted } from '../counted.js';
import { cellId } from '../matrix/cell-id.js';
import type { Cell, Matrix } from '../matrix/schema.js';
import { suggest } from '../suggest.js';
import type { GatePolicy, Requirement } from './policy.js';

/** A field of a requirement that asks for what is not to be had. */
interface Unsatisfiable {
  /** Below the requirement. */
  path: (string | number)[];
  message: string;
  hint: string;
}

/** The first such field; null when a run can be what is required. `challenge` is that of the policy. */
export function unsatisfiable(
  { cells: asked, rounds }: Requirement,
  matrix: Matrix,
  challenge: GatePolicy['challenge'],
): Unsatisfiable | null {
  const ids = matrix.cells.map(cellId);
  const unknown = asked?.findIndex((id) => !ids.includes(id)) ?? -1;
  const name = asked?.[unknown];
  if (name !== undefined) {
    const near = suggest(name, ids);
    return {
      path: ['cells', unknown],
      message: `${matrix.name} has no cell "${name}"`,
      hint: near === undefined ? `Its cells: ${ids.join(', ')}` : `Did you mean "${near}"?`,
    };
  }
  // Without a challenge whoever measures may choose the number of rounds (`--rounds`).
  if (challenge !== 'required') return null;
  const cells = matrix.cells.filter((cell) => asked?.includes(cellId(cell)) ?? cell.required);
  const lacking = cells.find((cell) => mostRounds(matrix, cell) < rounds);
  if (lacking === undefined) return null;
  const most = counted(mostRounds(matrix, lacking), 'round');
  return {
    path: ['rounds'],
    message: `${rounds} are required, and ${cellId(lacking)} of ${matrix.name} has at most ${most} (protocol.looks, cap)`,
    hint: 'Require no more rounds than the matrix runs, or give the matrix more.',
  };
}

/** Rounds of a cell at its last look. */
const mostRounds = ({ protocol }: Matrix, { cap }: Cell): number =>
  protocol.looks.filter((look) => cap === undefined || look <= cap).at(-1) ?? 0;
