/** The effect once more, in another way: by least squares over launches with an arm and a linear drift, instead of by rounds. */
import type { LogInterval } from '../effect.js';
import { mean } from '../statistics.js';
import { type Estimate, estimateOf } from './interval.js';

/** One launch of base or head. */
export interface TimedRate {
  /** Log of its median rate. */
  logRate: number;
  isHead: boolean;
  /** When it was launched; any unit, any origin. */
  time: number;
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

const centred = (values: readonly number[]): number[] => {
  const middle = mean(values);
  return values.map((value) => value - middle);
};

/**
 * ln(head / base) by least squares of log rate on arm and launch time. Null below four launches, without both arms, or when
 * arm and time cannot be told apart.
 */
export function orderEffect(launches: readonly TimedRate[], level: number): Estimate | null {
  const freedom = launches.length - 3;
  if (freedom < 1) return null;
  const y = centred(launches.map(({ logRate }) => logRate));
  const arm = centred(launches.map(({ isHead }) => (isHead ? 1 : 0)));
  const times = centred(launches.map(({ time }) => time));
  const span = Math.sqrt(dot(times, times));
  const time = times.map((value) => (span === 0 ? 0 : value / span));
  // What of the arm time does not explain: the arm's effect is what y has along it.
  const along = dot(arm, time);
  const own = arm.map((value, i) => value - along * (time[i] ?? 0));
  const size = dot(own, own);
  if (size < 1e-9 * launches.length) return null;
  const effect = dot(own, y) / size;
  const drift = dot(time, y) - along * effect;
  const rest = y.map((value, i) => value - effect * (arm[i] ?? 0) - drift * (time[i] ?? 0));
  return estimateOf(effect, Math.sqrt(dot(rest, rest) / freedom / size), freedom, level);
}

/** Bounds of an effect by rounds exclude none, and this one points the other way: the order of launches speaks against it. */
export const pointsElsewhere = (timed: Estimate, bounds: LogInterval | null): boolean =>
  bounds !== null && ((bounds.lower > 0 && timed.centre < 0) || (bounds.upper < 0 && timed.centre > 0));
