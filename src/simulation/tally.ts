/** Counts of what became of simulated cells and matrices, and how sure the counts are. */

/** What a cell can end as. `refused` is by a veto: no statistics are shown then. */
export const outcomes = ['pass', 'beyond', 'slower', 'inconclusive', 'refused'] as const;
export type Outcome = (typeof outcomes)[number];

export interface Tally {
  cells: Record<Outcome, number>;
  /** Rounds of all cells together. */
  rounds: number;
  matrices: number;
  /** Matrices all of whose cells passed. */
  matricesPassed: number;
}

export const emptyTally = (): Tally => ({
  cells: { pass: 0, beyond: 0, slower: 0, inconclusive: 0, refused: 0 },
  rounds: 0,
  matrices: 0,
  matricesPassed: 0,
});

export function addTally(sum: Tally, more: Tally): Tally {
  const cells = { ...sum.cells };
  for (const outcome of outcomes) cells[outcome] += more.cells[outcome];
  return {
    cells,
    rounds: sum.rounds + more.rounds,
    matrices: sum.matrices + more.matrices,
    matricesPassed: sum.matricesPassed + more.matricesPassed,
  };
}

export const cellCount = ({ cells }: Tally): number =>
  outcomes.reduce((sum, outcome) => sum + cells[outcome], 0);

/** A share with its 95 % interval, all from 0 to 1. */
export interface Share {
  count: number;
  of: number;
  share: number;
  lower: number;
  upper: number;
}

const z95 = 1.959963984540054;

/** A share with Wilson's 95 % interval, which holds near 0 and 1 too. */
export function shareOf(count: number, of: number): Share {
  if (of === 0) return { count, of, share: 0, lower: 0, upper: 1 };
  const share = count / of;
  const z2 = z95 ** 2 / of;
  const centre = (share + z2 / 2) / (1 + z2);
  const half = (z95 / (1 + z2)) * Math.sqrt((share * (1 - share)) / of + z2 / (4 * of));
  return {
    count,
    of,
    share,
    lower: count === 0 ? 0 : Math.max(0, centre - half),
    upper: count === of ? 1 : Math.min(1, centre + half),
  };
}
