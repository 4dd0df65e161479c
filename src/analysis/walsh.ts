/** Walsh averages: exact, distribution-free bounds of the centre of paired differences (the signed-rank twin of t). */
import { median } from './statistics.js';

/** How many subsets of {1..n} have each sum; index is the sum. Whole numbers up to 2^n. */
function subsetCounts(n: number): Float64Array {
  const counts = new Float64Array((n * (n + 1)) / 2 + 1);
  counts[0] = 1;
  let top = 0;
  for (let rank = 1; rank <= n; rank++) {
    top += rank;
    for (let sum = top; sum >= rank; sum--) counts[sum] = (counts[sum] ?? 0) + (counts[sum - rank] ?? 0);
  }
  return counts;
}

/** P(W <= w) of the signed-rank statistic of n pairs without an effect. */
export function signedRankCdf(w: number, n: number): number {
  const counts = subsetCounts(n);
  let below = 0;
  for (let sum = 0; sum <= Math.min(w, counts.length - 1); sum++) below += counts[sum] ?? 0;
  return below / 2 ** n;
}

/** Chance that the k-th smallest Walsh average of n lies above the true centre. One-sided. */
export const walshTail = (k: number, n: number): number => signedRankCdf(k - 1, n);

/** The largest k whose one-sided tail is at most `level`; 0 when n is too small for any bound at that level. */
export function walshRank(n: number, level: number): number {
  const key = `${n} ${level}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  let k = 0;
  while (walshTail(k + 1, n) <= level) k++;
  known.set(key, k);
  return k;
}

/** Ranks found before: a simulation asks for the same few a million times. */
const known = new Map<string, number>();

/** The n (n + 1) / 2 averages of all pairs (i <= j), ascending. */
export function walshAverages(values: readonly number[]): number[] {
  const averages = new Float64Array((values.length * (values.length + 1)) / 2);
  let next = 0;
  for (const [i, a] of values.entries()) {
    for (const b of values.slice(i)) averages[next++] = (a + b) / 2;
  }
  return [...averages.sort()];
}

/** One-sample Hodges-Lehmann estimate: the median of the Walsh averages. */
export const hodgesLehmann = (values: readonly number[]): number => median(walshAverages(values));

/** Lower and upper bound, each at one-sided `level` or better; null when n is too small. */
export function walshInterval(
  values: readonly number[],
  level: number,
): { lower: number; upper: number } | null {
  const k = walshRank(values.length, level);
  const averages = walshAverages(values);
  const lower = averages[k - 1];
  const upper = averages[averages.length - k];
  return lower === undefined || upper === undefined ? null : { lower, upper };
}

/** One-sided p of "the centre is above 0"; zeros are left out, ties share ranks (rounded down, against the claim). */
export function signedRankP(values: readonly number[]): number {
  const nonZero = values.filter((value) => value !== 0);
  const magnitudes = nonZero.map(Math.abs).toSorted((a, b) => a - b);
  const negative = nonZero.filter((value) => value < 0);
  const w = negative.reduce((sum, value) => sum + magnitudes.lastIndexOf(Math.abs(value)) + 1, 0);
  return nonZero.length === 0 ? 1 : signedRankCdf(w, nonZero.length);
}
