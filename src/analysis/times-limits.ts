/** A distance in limits of parity `bounded`: how much room they leave, and by how much a fault is beyond them. */
import type { Distance } from './bounded.js';
import type { Bounded } from './parity.js';

/** What is off, in units of what may be; infinite where nothing may be and something is. */
const over = (off: number, allowed: number): number => (off <= 0 ? 0 : off / allowed);

/** The largest of the three measures, each in its limit: up to 1 it is within, beyond 1 it fails; null when without bound. */
export function timesLimits({ top1, common, meanLogProbability }: Distance, limits: Bounded): number | null {
  const measures = [
    over(1 - top1, 1 - limits.top1),
    over(1 - common, 1 - limits.common),
    over(meanLogProbability ?? Number.POSITIVE_INFINITY, limits.meanLogProbability),
  ];
  const most = Math.max(...measures);
  return Number.isFinite(most) ? most : null;
}
