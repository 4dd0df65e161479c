/** Intervals of Student's t as the controls use them, and how they lie against a limit. On the log scale, as all effects. */
import { mean, sampleDeviation } from '../statistics.js';
import { tQuantile } from '../student-t.js';

/** A value of the log rate with its bounds, each at the one-sided level asked for. */
export interface Estimate {
  centre: number;
  lower: number;
  upper: number;
}

/** `centre` with bounds at `error` standard errors of `freedom` degrees of freedom. */
export function estimateOf(centre: number, error: number, freedom: number, level: number): Estimate {
  const half = error === 0 ? 0 : tQuantile(1 - level, freedom) * error;
  return { centre, lower: centre - half, upper: centre + half };
}

/** Mean of independent values, one-sided `level` a bound; null below two values. */
export function meanEstimate(values: readonly number[], level: number): Estimate | null {
  if (values.length < 2) return null;
  const error = sampleDeviation(values) / Math.sqrt(values.length);
  return estimateOf(mean(values), error, values.length - 1, level);
}

/** Sum of squares around the mean. */
export function squaresOf(values: readonly number[]): number {
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
}

/** A change of the log rate in percent of the rate. */
export const asPercent = (log: number): number => 100 * Math.expm1(log);

/** The whole interval lies beyond plus or minus `limitPercent`: what was seen is not just possible, it is shown. */
export const isBeyond = ({ lower, upper }: Estimate, limitPercent: number): boolean =>
  asPercent(lower) > limitPercent || asPercent(upper) < -limitPercent;

/** The whole interval lies within plus or minus `limitPercent`. */
export const isWithin = ({ lower, upper }: Estimate, limitPercent: number): boolean =>
  asPercent(lower) >= -limitPercent && asPercent(upper) <= limitPercent;

/** Only then can an interval around it be beyond: asked first where millions of them are looked at. */
export const isCentreBeyond = (centre: number, limitPercent: number): boolean =>
  Math.abs(asPercent(centre)) > limitPercent;

/** The whole interval lies within plus or minus the margin: two one-sided tests (TOST). `marginPercent` is a slowdown. */
export function isWithinMargin({ lower, upper }: Estimate, marginPercent: number): boolean {
  const margin = Math.log1p(-marginPercent / 100);
  return lower > margin && upper < -margin;
}
