/** Paired t: the mean of log ratios, one a round, with its bounds and the one-sided p of "faster". */
import { mean, sampleDeviation } from './statistics.js';
import { tQuantile, tUpperTail } from './student-t.js';

interface PairedT {
  /** Mean of the log ratios. */
  centre: number;
  /** Bounds, each at the one-sided level that was asked for. */
  interval: { lower: number; upper: number };
  /** One-sided p of "the mean is above 0"; without any spread the sign alone decides. */
  p: number;
}

/** @throws RangeError below two rounds, or for a level that is no probability. */
export function pairedT(logRatios: readonly number[], level: number): PairedT {
  const n = logRatios.length;
  const centre = mean(logRatios);
  const deviation = sampleDeviation(logRatios);
  const half = (tQuantile(1 - level, n - 1) * deviation) / Math.sqrt(n);
  const sign = centre > 0 ? 0 : 1;
  return {
    centre,
    interval: { lower: centre - half, upper: centre + half },
    p: deviation === 0 ? sign : tUpperTail(centre / (deviation / Math.sqrt(n)), n - 1),
  };
}
