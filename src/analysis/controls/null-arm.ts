/** The null arm against the reference: two builds of one revision, so that whatever differs is the session's doing. */
import { limits } from '../limits.js';
import { mean } from '../statistics.js';
import { type Estimate, estimateOf, isBeyond, squaresOf } from './interval.js';

interface NullEffect extends Estimate {
  /** The interval lies wholly beyond half the margin, on one side. */
  moved: boolean;
}

/**
 * Effect of the null arm. `perRound` are ln(null / reference), one a round; `level` is one-sided. The spread of a round is
 * that of these and of `others`, the rounds of the comparisons of the same cell, each around its own mean: two rounds alone know
 * hardly anything of it. Null below two rounds, from which no interval follows.
 */
export function nullArm(
  perRound: readonly number[],
  level: number,
  marginPercent: number,
  others: readonly (readonly number[])[] = [],
): NullEffect | null {
  if (perRound.length < 2) return null;
  const sets = [perRound, ...others.filter(({ length }) => length > 1)];
  const freedom = sets.reduce((sum, { length }) => sum + length - 1, 0);
  const variance = sets.reduce((sum, set) => sum + squaresOf(set), 0) / freedom;
  const error = Math.sqrt(variance / perRound.length);
  const estimate = estimateOf(mean(perRound), error, freedom, level);
  return { ...estimate, moved: isBeyond(estimate, marginPercent * limits.nullShare) };
}
