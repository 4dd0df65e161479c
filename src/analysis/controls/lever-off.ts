/** Head with its new switches off against the reference: as fast as it, else a gain of the head is not the switches'. */
import { type Estimate, isWithinMargin, meanEstimate } from './interval.js';

interface LeverOffEffect extends Estimate {
  /** Shown neither slower nor faster than the margin. */
  equivalent: boolean;
}

/** `perRound` are ln(lever-off / reference), one a round; two one-sided tests at `level`. Null below two rounds. */
export function leverOff(
  perRound: readonly number[],
  level: number,
  marginPercent: number,
): LeverOffEffect | null {
  const estimate = meanEstimate(perRound, level);
  return estimate === null ? null : { ...estimate, equivalent: isWithinMargin(estimate, marginPercent) };
}
