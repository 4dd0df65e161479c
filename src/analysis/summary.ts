/** What an arm did in one cell: rates of its retained samples, and where the time went. */
import type { PlannedCell } from '../plan/schema.js';
import type { ArmSummary } from '../verdict/schema.js';
import { type Launch, type Sample, samplesOf } from './observations.js';
import { PerLaunch } from './per-launch.js';
import { type Clock, otherClock, rateOf } from './rate.js';
import { mad, median } from './statistics.js';

/** Rates of the retained samples of a launch, in order of execution. */
export function ratesIn(launch: Launch, cell: PlannedCell, clock: Clock): readonly number[] {
  return rates[clock].of(launch, cell, () =>
    samplesOf(launch, cell.id, 'sample').flatMap((sample) => rateOf(sample.answer, cell.phase, clock) ?? []),
  );
}

const rates = { wall: new PerLaunch<readonly number[]>(), cpu: new PerLaunch<readonly number[]>() };

/** The same of some launches. */
export const ratesOf = (launches: readonly Launch[], cell: PlannedCell, clock: Clock): number[] =>
  launches.flatMap((launch) => ratesIn(launch, cell, clock));

/** Retained samples of a cell in order of execution: warm-ups and parity requests are not among them. */
export const retained = (cell: PlannedCell, launches: readonly Launch[]): Sample[] =>
  launches.flatMap((launch) => samplesOf(launch, cell.id, 'sample'));

/** Median milliseconds by stage; a stage that an answer lacks counts as zero there. */
function stagesOf(samples: readonly Sample[]): Record<string, number> {
  const names = new Set(samples.flatMap((sample) => Object.keys(sample.answer.stages)));
  const entries = [...names].toSorted().map((name): [string, number] => {
    const times = samples.map((sample) => sample.answer.stages[name] ?? 0);
    return [name, median(times)];
  });
  return Object.fromEntries(entries);
}

/** Summary over the samples of all launches given; null when none has a rate. */
export function summaryOf(cell: PlannedCell, launches: readonly Launch[], clock: Clock): ArmSummary | null {
  const samples = retained(cell, launches);
  const own = ratesOf(launches, cell, clock);
  if (own.length === 0) return null;
  const others = ratesOf(launches, cell, otherClock(clock));
  return {
    n: own.length,
    median: median(own),
    mad: mad(own),
    min: Math.min(...own),
    max: Math.max(...own),
    samples: own,
    unit: 'tok/s',
    stages: stagesOf(samples),
    otherClock:
      others.length === own.length
        ? { clock: otherClock(clock), median: median(others), mad: mad(others) }
        : null,
  };
}

/** A round that both arms of a comparison have: its two launches, and ln(median rate of head / median rate of base). */
export interface ComparedRound {
  ratio: number;
  base: Launch;
  head: Launch;
}

/** The rounds in which both arms have rates, in order. */
export function comparedRounds(
  cell: PlannedCell,
  base: readonly Launch[],
  head: readonly Launch[],
  clock: Clock,
): ComparedRound[] {
  return base.flatMap((left) => {
    const right = head.find((launch) => launch.round === left.round);
    if (right === undefined) return [];
    const [reference, rate] = [left, right].map((launch) => ratesIn(launch, cell, clock));
    if (!reference?.length || !rate?.length) return [];
    return [{ ratio: Math.log(median(rate) / median(reference)), base: left, head: right }];
  });
}
