/** What a session's controls say of a simulated cell, by the functions of sessions: refusals, and what no decision may rest on. */
import { isCentreBeyond } from '../analysis/controls/interval.js';
import { nullArm } from '../analysis/controls/null-arm.js';
import { orderEffect, pointsElsewhere, type TimedRate } from '../analysis/controls/order-effect.js';
import {
  changeAlong,
  fittedChange,
  isUnsteady,
  type Places,
  placesOf,
  warmUpLimit,
} from '../analysis/controls/warm-up.js';
import type { LogInterval } from '../analysis/effect.js';
import { limits } from '../analysis/limits.js';
import { turnOf } from '../plan/sample-order.js';

/** What was seen of a cell up to a look. Rates are logs. */
export interface SeenCell {
  rounds: number;
  /** Retained samples a launch. */
  samples: number;
  /** By arm: sample `s` of round `r`, in the order of execution, is at `r * samples + s`; what lies beyond `rounds` is not seen yet. */
  logs: Readonly<Record<'base' | 'head', ArrayLike<number>>>;
  /** ln(head / base) of each round, by medians. */
  ratios: readonly number[];
  /** ln(null / base) of each round that has a null arm. */
  nullRatios: readonly number[];
  /** Median log rate of base in each round; that of head is by `ratios` more. */
  baseMedians: readonly number[];
  /** The place of each launch of an arm in the session, which stands for time. */
  times: Readonly<Record<'base' | 'head', readonly number[]>>;
}

/** Why a cell is refused, or null. */
export type Veto = (cell: SeenCell, marginPercent: number) => string | null;

/** Whether the order of launches speaks against the effect that a cell would be decided by. */
export type Contradiction = (cell: SeenCell, bounds: LogInterval | null, level: number) => boolean;

/** The reference differs from itself. */
export const nullMoved: Veto = ({ nullRatios, ratios }, marginPercent) => {
  const centre = nullRatios.reduce((sum, ratio) => sum + ratio, 0) / nullRatios.length;
  if (!isCentreBeyond(centre, marginPercent * limits.nullShare)) return null;
  const effect = nullArm(nullRatios, limits.vetoLevel, marginPercent, [ratios]);
  return effect?.moved === true ? 'null-arm-moved' : null;
};

/** Where samples stand depends on rounds and samples alone, so that millions of cells share a few of these. */
const known = new Map<string, Places | null>();

function placesIn({ rounds, samples }: SeenCell): Places | null {
  const key = `${rounds} ${samples}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const prompts = Array.from({ length: rounds }, (_, round) =>
    Array.from({ length: samples }, (_, place) => String((place + turnOf(round, samples)) % samples)),
  );
  const made = placesOf(
    prompts.map(({ length }) => length),
    prompts,
  );
  known.set(key, made);
  return made;
}

/** The rates of an arm rise or fall from the first retained sample of a launch to the last. */
export const warmUpTooShort: Veto = (cell, marginPercent) => {
  const places = placesIn(cell);
  if (places === null) return null;
  const limit = warmUpLimit(marginPercent);
  const unsteady = [cell.logs.base, cell.logs.head].some(
    (logs) =>
      isCentreBeyond(fittedChange(places, logs), limit) &&
      isUnsteady(changeAlong(places, logs, limits.vetoLevel), marginPercent),
  );
  return unsteady ? 'warm-up-insufficient' : null;
};

/** Those that a session applies. The slot effect is only told; a lever-off arm takes switches. */
export const vetoes: readonly Veto[] = [nullMoved, warmUpTooShort];

/** The effect turns round when a linear drift is taken out. */
export const orderContradicts: Contradiction = ({ baseMedians, ratios, times }, bounds, level) => {
  if (bounds === null || (bounds.lower <= 0 && bounds.upper >= 0)) return false;
  const launches: TimedRate[] = [];
  for (const [round, logRate] of baseMedians.entries()) {
    launches.push({ logRate, isHead: false, time: times.base[round] ?? 0 });
    launches.push({ logRate: logRate + (ratios[round] ?? 0), isHead: true, time: times.head[round] ?? 0 });
  }
  const timed = orderEffect(launches, level);
  return timed !== null && pointsElsewhere(timed, bounds);
};
