/** The effect of an arm against its reference: one log ratio a round, its centre and its bounds. */
import type { Plan } from '../plan/schema.js';
import { pairedT } from './paired-t.js';
import { mean, sampleDeviation } from './statistics.js';
import { tQuantile } from './student-t.js';
import { hodgesLehmann, signedRankP, walshInterval } from './walsh.js';

/** Fewest rounds for which any interval is shown: below it no exact bound at a useful level exists. */
export const fewestRounds = 6;

/** Chance of clearing or catching the smallest detectable slowdown. */
const power = 0.8;

/** Bounds of the log ratio. */
export interface LogInterval {
  lower: number;
  upper: number;
}

/** Everything on the log scale; `deltaPercent` and `ratio` are made from it when the verdict is written. */
export interface LogEffect {
  /** ln(median of arm / median of reference), one a round, in order. */
  perRound: number[];
  /** Mean (interval t) or Hodges-Lehmann (interval walsh). */
  centre: number;
  t: LogInterval | null;
  walsh: LogInterval | null;
  /** The interval that the plan named. */
  deciding: LogInterval | null;
  /** One-sided level of a bound, such as 0.0194. */
  level: number;
  /** One-sided p of "faster", by the plan's interval; 1 when there are too few rounds. */
  improvedP: number;
}

/** Bounds of a centre at one-sided `level`; null when there are too few rounds. */
export function boundsOf(
  perRound: readonly number[],
  interval: Plan['decision']['interval'],
  level: number,
): LogInterval | null {
  if (perRound.length < fewestRounds) return null;
  return interval === 't' ? pairedT(perRound, level).interval : walshInterval(perRound, level);
}

/** The effect of at least one round. */
export function logEffect(perRound: readonly number[], decision: Plan['decision']): LogEffect {
  const { levelPerLook: level, interval } = decision;
  const enough = perRound.length >= fewestRounds;
  const paired = enough ? pairedT(perRound, level) : null;
  const t = paired?.interval ?? null;
  const walsh = boundsOf(perRound, 'walsh', level);
  return {
    perRound: [...perRound],
    centre: interval === 't' ? mean(perRound) : hodgesLehmann(perRound),
    t,
    walsh,
    deciding: interval === 't' ? t : walsh,
    level,
    improvedP: paired === null ? 1 : interval === 't' ? paired.p : signedRankP(perRound),
  };
}

/** Half-width in units of the log ratio at which `rounds` rounds of this spread detect with 80 % power. */
function detectable(deviation: number, rounds: number, level: number): number {
  const freedom = rounds - 1;
  return ((tQuantile(1 - level, freedom) + tQuantile(power, freedom)) * deviation) / Math.sqrt(rounds);
}

/** Smallest slowdown in percent that these rounds would have told from none, with 80 % power; null below two rounds. */
export function minimumDetectablePercent(effect: LogEffect): number | null {
  const rounds = effect.perRound.length;
  if (rounds < 2) return null;
  return -100 * Math.expm1(-detectable(sampleDeviation(effect.perRound), rounds, effect.level));
}

const mostRounds = 10_000;

/**
 * Rounds to add until a bound clears `margin` (a log ratio, negative) if centre and spread stay as they are; null when
 * the centre sits on the margin, or more than 10,000 would be needed.
 */
export function roundsStillNeeded(effect: LogEffect, margin: number): number | null {
  const have = effect.perRound.length;
  if (have < fewestRounds) return fewestRounds - have;
  const distance = Math.abs(effect.centre - margin);
  const deviation = sampleDeviation(effect.perRound);
  // No quantile with fewer rounds is below this one, so that most need not be found to see that they are too large.
  const least = (1 - 1e-6) * tQuantile(1 - effect.level, mostRounds);
  for (
    let rounds = have + 2;
    rounds <= mostRounds;
    rounds = Math.max(rounds + 2, 2 * Math.ceil(rounds * 0.51))
  ) {
    if ((least * deviation) / Math.sqrt(rounds) >= distance) continue;
    if ((tQuantile(1 - effect.level, rounds - 1) * deviation) / Math.sqrt(rounds) < distance)
      return rounds - have;
  }
  return null;
}
