/** The null arm against the reference: two builds of one revision, so that whatever differs is the session's doing. */
import { limits } from '../limits.js';
import { type Estimate, isBeyond, meanEstimate } from './interval.js';

export interface NullEffect extends Estimate {
  /** The interval lies wholly beyond half the margin, on one side. */
  moved: boolean;
}

/**
 * Effect of the null arm. `perRound` are ln(null / reference), one a round; `level` is one-sided. Null below two rounds, from
 * which no interval follows. With two rounds the interval is wide: what is called moved then has moved far.
 */
export function nullArm(
  perRound: readonly number[],
  level: number,
  marginPercent: number,
): NullEffect | null {
  const estimate = meanEstimate(perRound, level);
  return estimate === null
    ? null
    : { ...estimate, moved: isBeyond(estimate, marginPercent * limits.nullShare) };
}
