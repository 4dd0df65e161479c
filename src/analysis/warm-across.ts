/**
 * Does something remember prompts from launch to launch? Samples are the same in every launch, the salts of warm-ups are not: an
 * engine that keeps what it computed outside its process answers samples faster than the warm-up before them, but not in the first
 * launch, and whatever it says of reuse.
 */
import type { PlannedCell } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import { type Launch, type Sample, samplesOf } from './observations.js';
import { type Clock, rateOf } from './rate.js';
import { median } from './statistics.js';

/** Prefill rate of an answer, whatever the cell times: it is prefill that a cache spares. Wall time where the clock has none. */
const prefillRate = ({ answer }: Sample, clock: Clock): number | null =>
  rateOf(answer, 'prefill', clock) ?? rateOf(answer, 'prefill', 'wall');

/**
 * ln(prefill rate of the samples / prefill rate of the last warm-up) of a launch; null when one is missing. The rate is the median, or
 * that of the first sample where it is lower: what is remembered is fast at once, what is still warming up becomes it.
 */
function gainOf(launch: Launch, cell: PlannedCell, clock: Clock): number | null {
  const warmup = samplesOf(launch, cell.id, 'warmup').at(-1);
  const novel = warmup === undefined ? null : prefillRate(warmup, clock);
  const rates = samplesOf(launch, cell.id, 'sample').flatMap((sample) => prefillRate(sample, clock) ?? []);
  const [first] = rates;
  return novel === null || first === undefined ? null : Math.log(Math.min(first, median(rates)) / novel);
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
    const gain = gainOf(launch, cell, clock);
    return gain === null ? [] : [{ arm: launch.arm, gain }];
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
