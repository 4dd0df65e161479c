/**
 * Does something remember prompts from launch to launch? Samples are the same in every launch, the salts of warm-ups are not: an
 * engine that keeps what it computed outside its process answers samples faster than the warm-up before them, but not in the first
 * launch, and whatever it says of reuse.
 */
import type { PlannedCell } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import { type Launch, type Sample, samplesOf } from './observations.js';
import { PerLaunch } from './per-launch.js';
import { type Clock, rateOf } from './rate.js';
import { median } from './statistics.js';

/** Prefill rate of an answer, whatever the cell times: it is prefill that a cache spares. Wall time where the clock has none. */
const prefillRate = ({ answer }: Sample, clock: Clock): number | null =>
  rateOf(answer, 'prefill', clock) ?? rateOf(answer, 'prefill', 'wall');

/** Prefill rates of a launch, in tokens a second. */
interface Paces {
  /** Of the last warm-up, whose prompt is new in every launch. */
  novel: number;
  /**
   * Of the samples: the median, or the first where that is lower. What is remembered is fast at once, what is still warming up
   * becomes it.
   */
  samples: number;
}

/** Null when a warm-up or all samples are missing. */
export const pacesOf = (launch: Launch, cell: PlannedCell, clock: Clock): Paces | null =>
  paces[clock].of(launch, cell, () => findPaces(launch, cell, clock));

const paces = { wall: new PerLaunch<Paces | null>(), cpu: new PerLaunch<Paces | null>() };

function findPaces(launch: Launch, cell: PlannedCell, clock: Clock): Paces | null {
  const warmup = samplesOf(launch, cell.id, 'warmup').at(-1);
  const novel = warmup === undefined ? null : prefillRate(warmup, clock);
  const rates = samplesOf(launch, cell.id, 'sample').flatMap((sample) => prefillRate(sample, clock) ?? []);
  const [first] = rates;
  return novel === null || first === undefined ? null : { novel, samples: Math.min(first, median(rates)) };
}

const times = (logarithm: number): string => `${Number(Math.exp(logarithm).toPrecision(3))} times`;

interface Gain {
  arm: string;
  gain: number;
}

/** What the session's first launch gained over its warm-up is warming up, and excuses as much later, up to a factor. */
function excused({ gain }: Gain): number {
  return Math.min(Math.max(0, gain), Math.log(limits.warmUpFactor));
}

/** Arms whose later launches gain over their warm-ups what the session's first launch of the cell did not: half of them or more. */
export function warmAcrossLaunches(cell: PlannedCell, launches: readonly Launch[], clock: Clock): Finding[] {
  const inOrder = launches.toSorted((a, b) => a.round - b.round || a.started.position - b.started.position);
  const gains = inOrder.flatMap((launch): Gain[] => {
    const found = pacesOf(launch, cell, clock);
    return found === null ? [] : [{ arm: launch.arm, gain: Math.log(found.samples / found.novel) }];
  });
  const [first, ...later] = gains;
  if (first === undefined) return [];
  return [...new Set(later.map(({ arm }) => arm))].flatMap((arm) => {
    const own = later.filter((launch) => launch.arm === arm).map(({ gain }) => gain);
    const allowed = excused(first) + Math.log1p(own.length < 3 ? limits.warmGainOfFew : limits.warmGain);
    const beyond = own.filter((gain) => gain > allowed);
    if (2 * beyond.length < own.length) return [];
    const message =
      `${cell.id}: in ${beyond.length} of ${own.length} later launches of ${arm} samples were ${times(median(beyond))} as fast as ` +
      `the new prompt of the last warm-up, in the first launch ${times(first.gain)}: they are remembered from launch to launch`;
    return [finding('warm-across-launches', message)];
  });
}

/** A warning: where no warm-up is sent, nothing is new to hold the samples against. */
export const warmAcrossUnseen = (warmups: number): Finding[] =>
  warmups > 0
    ? []
    : [finding('no-warm-ups', 'without warm-ups a cache that outlives its process cannot be seen')];
