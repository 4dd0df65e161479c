/** Matrices that find out what a machine is good for: one arm twice, as it is or slowed down on purpose in one of them. Pure. */
import { plantSlowdown } from './planted.js';
import type { Matrix } from './schema.js';

interface SameTwiceOptions {
  /** Rounds after which equal arms are looked at. */
  rounds: number;
  /** The clock that decides; the matrix's own when absent. */
  clock?: Matrix['protocol']['clock'] | undefined;
}

/** Looks at a planted slowdown: as the default protocol, because few rounds may not decide on a noisy machine. */
const PLANTED_LOOKS = [6, 12, 18, 24];

const LONGEST_TITLE = 200;

/** The reference of a matrix twice, as arms `a` and `b` which differ in nothing. They are each other's null arm. */
export function sameTwice(matrix: Matrix, { rounds, clock }: SameTwiceOptions): Matrix {
  const [arm] = Object.values(matrix.arms);
  if (arm === undefined) throw new RangeError(`${matrix.name} has no arm`);
  const { protocol } = matrix;
  return {
    ...matrix,
    title: `A/A, the same twice: ${matrix.title}`.slice(0, LONGEST_TITLE),
    arms: { a: arm, b: arm },
    protocol: { ...protocol, looks: [rounds], nullRounds: 0, clock: clock ?? protocol.clock },
  };
}

/** The same with arm `b` slowed down by `percent`, which must not pass under a margin of `marginPercent`. */
export function plantedTwice(
  same: Matrix,
  { percent, marginPercent }: { percent: number; marginPercent: number },
): Matrix {
  const { protocol } = same;
  return plantSlowdown(
    {
      ...same,
      protocol: { ...protocol, looks: PLANTED_LOOKS },
      budgets: { prefill: marginPercent, decode: marginPercent },
    },
    percent,
  );
}
