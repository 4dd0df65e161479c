/** How small a budget rounds of a given spread can hold a change to: the margin at which what has not changed passes. */
import { errorFunction } from 'simple-statistics';
import { lnGammaOfHalf } from './chi-square.js';
import { tQuantile } from './student-t.js';

/** Chance that an unchanged cell is to have of passing. */
const wantedPass = 0.9;

const normalCdf = (x: number): number => (1 + errorFunction(x / Math.SQRT2)) / 2;

/** Steps of the integral over the spread that a set of rounds happens to show. */
const STEPS = 400;

/**
 * Chance that the lower t bound of `rounds` rounds lies above the margin, when the margin is `distance` standard errors below
 * the truth: P(T' > t) of the noncentral t, as the mean of Phi(distance - t u) over u, the ratio of the shown deviation to the true
 * one. One look; that of several looks is higher.
 */
export function passChance(distance: number, rounds: number, level: number): number {
  const freedom = rounds - 1;
  const t = tQuantile(1 - level, freedom);
  const lnScale = Math.log(2) + (freedom / 2) * Math.log(freedom / 2) - lnGammaOfHalf(freedom);
  const density = (u: number): number =>
    u <= 0 ? 0 : Math.exp(lnScale + (freedom - 1) * Math.log(u) - (freedom * u * u) / 2);
  // Beyond it there is less than 1e-12 for every number of degrees of freedom.
  const most = 1 + 7.5 / Math.sqrt(freedom);
  const width = most / STEPS;
  let sum = 0;
  for (let step = 0; step <= STEPS; step++) {
    const weight = step === 0 || step === STEPS ? 1 : step % 2 === 1 ? 4 : 2;
    sum += weight * density(step * width) * normalCdf(distance - t * step * width);
  }
  return (sum * width) / 3;
}

/** Standard errors that the margin must lie below the truth for an unchanged cell to pass with the wanted chance. */
function wantedDistance(rounds: number, level: number): number {
  let [low, high] = [0, 64];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (passChance(middle, rounds, level) < wantedPass) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Smallest margin in percent under which a cell that has not changed passes 9 times in 10 at a look after `rounds` rounds.
 * @param deviation standard deviation of a round's log ratio
 * @param level one-sided level of the look, such as 0.0194
 */
export function smallestMarginPercent(deviation: number, rounds: number, level: number): number {
  return -100 * Math.expm1((-wantedDistance(rounds, level) * deviation) / Math.sqrt(rounds));
}
