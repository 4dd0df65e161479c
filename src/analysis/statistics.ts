/** Summary statistics of small sets of samples. Medians and MADs come from simple-statistics; what it lacks is here. */
import { mean as meanOf, medianAbsoluteDeviation, median as medianOf } from 'simple-statistics';

/** Median of at least one value; the mean of the middle two for an even count. */
export const median = (values: readonly number[]): number => medianOf([...values]);

/** Median absolute deviation from the median, unscaled, as the field prints it. */
export const mad = (values: readonly number[]): number => medianAbsoluteDeviation([...values]);

export const mean = (values: readonly number[]): number => meanOf([...values]);

/** Standard deviation with n - 1 in the denominator; 0 for a single value. */
export function sampleDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}
