/**
 * Where the level of a series changed: E-divisive (Matteson and James 2014), the method of MongoDB's and Hunter's change-point
 * detectors. The split with the largest energy distance between both sides is kept when few random orders of the same values
 * have one as large; then each side is looked at by itself. The test is by permutation, so that the chance of a change point
 * in a series without one is at most `level`, whatever the distribution, as long as the values are exchangeable: a slow drift, or values
 * that depend on their neighbours, are no such series. Pure, and the same on every machine: the orders follow from the values.
 */
import { sha256 } from '../digest.js';
import { Stream } from '../plan/stream.js';
import { FastDraw } from '../simulation/draw.js';

/** A change between two neighbours of a series. */
export interface ChangePoint {
  /** Index of the first value of the new level. */
  index: number;
  /** Share of random orders with a split at least as large; the one that was seen is counted among them. */
  p: number;
}

export interface ChangePointOptions {
  /** Chance of a change point in a series without one. */
  level?: number;
  /** Fewest values of a level: a single spike is none. */
  leastValues?: number;
  /** Random orders of each test. */
  permutations?: number;
}

/** Below it nothing is tested: with four values a side there are too few orders for a p of 2 %. */
export const fewestValues = 10;

/** Defaults: at most one series without a change in fifty is called changed. */
const changePointDefaults = { level: 0.02, leastValues: 4, permutations: 499 } as const;

interface Split {
  at: number;
  distance: number;
}

/** Sum of |value - others[i]| for i in [from, to). */
function distanceSum(value: number, others: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at++) sum += Math.abs(value - (others[at] ?? 0));
  return sum;
}

/** The split of `values` with the largest energy distance, scaled by its sizes as in the paper; both sides have `least` values. */
function bestSplit(values: Float64Array, least: number): Split {
  const n = values.length;
  let [left, right, across] = [0, 0, 0];
  for (let at = 0; at < n; at++) right += distanceSum(values[at] ?? 0, values, at + 1, n);
  let best: Split = { at: least, distance: Number.NEGATIVE_INFINITY };
  for (let size = 1; size <= n - least; size++) {
    // The value before the split moves from the right side to the left.
    const moved = values[size - 1] ?? 0;
    const [before, after] = [distanceSum(moved, values, 0, size - 1), distanceSum(moved, values, size, n)];
    left += before;
    right -= after;
    across += after - before;
    if (size < least) continue;
    const rest = n - size;
    const energy =
      (2 * across) / (size * rest) - (2 * left) / (size * (size - 1)) - (2 * right) / (rest * (rest - 1));
    const distance = ((size * rest) / n) * energy;
    if (distance > best.distance) best = { at: size, distance };
  }
  return best;
}

/** Fisher and Yates, in place. */
function shuffle(values: Float64Array, draw: FastDraw): void {
  for (let last = values.length - 1; last > 0; last--) {
    const other = Math.floor(draw.uniform() * (last + 1));
    const held = values[last] ?? 0;
    values[last] = values[other] ?? 0;
    values[other] = held;
  }
}

/** Rounding must not make an order of equal values look smaller than the one that was seen. */
const SAME = 1 - 1e-9;

function changesIn(
  values: Float64Array,
  offset: number,
  options: Required<ChangePointOptions>,
): ChangePoint[] {
  const { level, leastValues, permutations } = options;
  if (values.length < Math.max(fewestValues, 2 * leastValues)) return [];
  const seen = bestSplit(values, leastValues);
  if (!(seen.distance > 0)) return [];
  const draw = new FastDraw(new Stream(sha256(values.join()), 'changes'));
  const pool = values.slice();
  let asLarge = 1;
  for (let count = 0; count < permutations; count++) {
    shuffle(pool, draw);
    if (bestSplit(pool, leastValues).distance >= seen.distance * SAME) asLarge++;
  }
  const p = asLarge / (permutations + 1);
  if (p > level) return [];
  return [
    ...changesIn(values.subarray(0, seen.at), offset, options),
    { index: offset + seen.at, p },
    ...changesIn(values.subarray(seen.at), offset + seen.at, options),
  ];
}

/**
 * The change points of a series in order; null when it has fewer than `fewestValues` values, so that nothing was tested. Of rates, give
 * logarithms: a change of a percent is then one at any level.
 */
export function changePoints(
  values: readonly number[],
  options: ChangePointOptions = {},
): ChangePoint[] | null {
  if (values.length < fewestValues) return null;
  return changesIn(Float64Array.from(values), 0, { ...changePointDefaults, ...options });
}
