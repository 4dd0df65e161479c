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
  /** Of the fastest warm-up whose claim the client does not contradict; null when there is none. */
  fastestNovel: number | null;
  /**
   * Of the samples: the median, or the first where that is lower. What is remembered is fast at once, what is still warming up
   * becomes it.
   */
  samples: number;
}

/** Whether the time that an answer claims is about what its client waited. */
const wasSeen = ({ answer: { promptMs, predictedMs, clientMs } }: Sample): boolean =>
  (promptMs ?? 0) + (predictedMs ?? 0) >= limits.claimShare * clientMs;

/** Null when a warm-up or all samples are missing. */
export const pacesOf = (launch: Launch, cell: PlannedCell, clock: Clock): Paces | null =>
  paces[clock].of(launch, cell, () => findPaces(launch, cell, clock));

const paces = { wall: new PerLaunch<Paces | null>(), cpu: new PerLaunch<Paces | null>() };

function findPaces(launch: Launch, cell: PlannedCell, clock: Clock): Paces | null {
  const warmups = samplesOf(launch, cell.id, 'warmup');
  const last = warmups.at(-1);
  const novel = last === undefined ? null : prefillRate(last, clock);
  const rates = samplesOf(launch, cell.id, 'sample').flatMap((sample) => prefillRate(sample, clock) ?? []);
  const [first] = rates;
  if (novel === null || first === undefined) return null;
  const believed = warmups.filter(wasSeen).flatMap((warmup) => prefillRate(warmup, clock) ?? []);
  const fastestNovel = believed.length === 0 ? null : Math.max(...believed);
  return { novel, fastestNovel, samples: Math.min(first, median(rates)) };
}

const times = (logarithm: number): string => `${Number(Math.exp(logarithm).toPrecision(3))} times`;

/** A launch in logarithms. */
interface Gain {
  arm: string;
  /** Rate of the samples over that of the new prompt before them. */
  gain: number;
  samples: number;
  fastestNovel: number | null;
}

/** What the session's first launch gained over its warm-up is warming up, and excuses as much later, up to a factor. */
function excused({ gain }: Gain): number {
  return Math.min(Math.max(0, gain), Math.log(limits.warmUpFactor));
}

/** How fast an arm is at what is new: in its second fastest launch, since one can be a slip of a clock, or else in its only one. */
function coldPace(launches: readonly Gain[]): number {
  const paces = launches.flatMap(({ fastestNovel }) => fastestNovel ?? []).sort((a, b) => b - a);
  return paces[1] ?? paces[0] ?? Number.NEGATIVE_INFINITY;
}

/**
 * Arms whose later launches gain over their warm-ups what the session's first launch of the cell did not: half of them or more. Only
 * gains over the pace at which the arm computes what is new count: two warm-ups of a few milliseconds leave some processes half awake (threads
 * not yet apart on their cores), and then their samples outrun them; but that the arm can be as fast cold, other launches show. What
 * is remembered, no new prompt comes near to.
 */
export function warmAcrossLaunches(cell: PlannedCell, launches: readonly Launch[], clock: Clock): Finding[] {
  const inOrder = launches.toSorted((a, b) => a.round - b.round || a.started.position - b.started.position);
  const gains = inOrder.flatMap((launch): Gain[] => {
    const found = pacesOf(launch, cell, clock);
    if (found === null) return [];
    const fastestNovel = found.fastestNovel === null ? null : Math.log(found.fastestNovel);
    const gain = Math.log(found.samples / found.novel);
    return [{ arm: launch.arm, gain, samples: Math.log(found.samples), fastestNovel }];
  });
  const [first, ...later] = gains;
  if (first === undefined) return [];
  return [...new Set(later.map(({ arm }) => arm))].flatMap((arm) => {
    const own = later.filter((launch) => launch.arm === arm);
    const allowed = Math.log1p(own.length < 3 ? limits.warmGainOfFew : limits.warmGain);
    const cold = coldPace(gains.filter((launch) => launch.arm === arm));
    const beyond = own
      .filter(({ gain, samples }) => gain > excused(first) + allowed && samples > cold + allowed)
      .map(({ gain }) => gain);
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
