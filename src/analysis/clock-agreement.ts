/** Do two arms tell the time alike? A server that passes its time off as less in one arm would be the faster for it. */
import { counted } from '../counted.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import { fewestRounds, type LogEffect, type LogInterval, logEffect } from './effect.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import { type Launch, type Sample, samplesOf } from './observations.js';
import { PerLaunch } from './per-launch.js';
import { phaseMs } from './rate.js';
import { median } from './statistics.js';
import { ratesOf, retained } from './summary.js';

/** Medians over the samples of an arm: what the client saw, what the server claims, and the rest; milliseconds. */
interface Times {
  client: number;
  claimed: number;
  gap: number;
}

/** Wall time that the server accounts for. What it does not tell, it does not account for. */
export const claimedMs = ({ answer }: Sample): number => (answer.promptMs ?? 0) + (answer.predictedMs ?? 0);

function timesOf(cell: PlannedCell, samples: readonly Sample[]): Times {
  const claimed = (sample: Sample): number => spentMs(cell, sample);
  return {
    client: median(samples.map((sample) => sample.answer.clientMs)),
    claimed: median(samples.map(claimed)),
    gap: median(samples.map((sample) => sample.answer.clientMs - claimed(sample))),
  };
}

/**
 * Of the time that is claimed, what there are tokens for. A single token ends the prefill: time that is claimed for decoding after it is
 * time that the prefill passes on.
 */
const spentMs = (cell: PlannedCell, sample: Sample): number =>
  cell.generatedTokens > 1 ? claimedMs(sample) : (sample.answer.promptMs ?? 0);

const shown = (ms: number): string => `${Number(ms.toPrecision(3))} ms`;

/** Time that the client saw and the server does not account for: alike in both arms, and not most of it. */
function gapFindings(
  cell: PlannedCell,
  base: readonly Sample[],
  head: readonly Sample[],
  names: [string, string],
): Finding[] {
  const arms = [timesOf(cell, base), timesOf(cell, head)] as const;
  const [left, right] = arms;
  const told = arms.map(({ client, claimed }, at) => `${names[at]} ${shown(claimed)} of ${shown(client)}`);
  const message = `the servers account for too little of the time that the client saw, or not alike: ${told.join(', ')} (medians)`;
  const allowed = Math.max(limits.gapMs, limits.gapShare * Math.min(left.client, right.client));
  const apart = Math.abs(left.gap - right.gap) > allowed;
  const hidden = arms.some(({ gap, claimed }) => gap > claimed && gap > limits.hiddenMs);
  return apart || hidden ? [finding('clocks-contradict', message)] : [];
}

/** By how much the second of two launches is the faster for what it leaves unclaimed: as a log ratio, and in milliseconds. */
interface Apart {
  ratio: number;
  ms: number;
}

/**
 * How far the effect that two launches claim is from the one that the client saw: all that a launch leaves unclaimed beyond
 * `unclaimed` milliseconds is time of the phase that the cell times.
 */
function apartIn(cell: PlannedCell, base: Launch, head: Launch, unclaimed: number): Apart | null {
  const [left, right] = [base, head].map((launch) => shares.of(launch, cell, () => shareOf(launch, cell)));
  if (!left || !right) return null;
  const hidden = ({ phase, gap }: Share): number =>
    Math.log(Math.max(phase + gap - unclaimed, limits.shortestMs) / phase);
  return { ratio: hidden(right) - hidden(left), ms: right.gap - left.gap };
}

/** Medians over the samples of a launch, in milliseconds: the phase that the cell times, and what is left unclaimed. */
interface Share {
  phase: number;
  gap: number;
}

const shares = new PerLaunch<Share | null>();

/** Null when no sample has the time of its phase. */
function shareOf(launch: Launch, cell: PlannedCell): Share | null {
  const samples = samplesOf(launch, cell.id, 'sample');
  const phases = samples.flatMap((sample) => phaseMs(sample.answer, cell.phase, 'wall') ?? []);
  if (phases.length === 0) return null;
  return { phase: Math.max(median(phases), limits.shortestMs), gap: timesOf(cell, samples).gap };
}

/**
 * The effect by the client's clock against the effect by the times that are claimed, round by round. They contradict each other when,
 * beyond the noise of the rounds, they are apart by more than half the margin and by more milliseconds than clocks are anyway.
 */
function effectFindings(
  decision: Plan['decision'],
  cell: PlannedCell,
  bases: readonly Launch[],
  heads: readonly Launch[],
): Finding[] {
  const gaps = [bases, heads].map((launches) => timesOf(cell, retained(cell, launches)).gap);
  const rounds = bases.flatMap((base) => {
    const head = heads.find((launch) => launch.round === base.round);
    return (head && apartIn(cell, base, head, Math.min(...gaps))) ?? [];
  });
  if (rounds.length < fewestRounds) return [];
  const effect = (of: keyof Apart): LogEffect =>
    logEffect(
      rounds.map((round) => round[of]),
      decision,
    );
  const [ratio, ms] = [effect('ratio'), effect('ms')];
  const allowed = -Math.log1p(-cell.marginPercent / 200);
  if (leastOf(ratio.t) <= allowed || leastOf(ms.t) <= limits.clockMs) return [];
  const liar = (ratio.centre > 0 ? heads : bases)[0]?.arm;
  const share = Number((100 * Math.expm1(Math.abs(ratio.centre))).toPrecision(2));
  const message = `the effect that is claimed is not the one that the client saw: ${liar} leaves ${shown(Math.abs(ms.centre))} a request more unclaimed, which is ${share} % (means of ${rounds.length} rounds)`;
  return [finding('clocks-contradict', message)];
}

/** The least that a quantity with these bounds is, whatever its sign; 0 without bounds, or when they hold 0. */
const leastOf = (bounds: LogInterval | null): number =>
  bounds === null ? 0 : Math.max(bounds.lower, -bounds.upper, 0);

/** The effect by CPU time may differ from that by wall time, as load does to it, but not be another one. */
function cpuFindings(cell: PlannedCell, base: readonly Launch[], head: readonly Launch[]): Finding[] {
  const [cpu, wall] = (['cpu', 'wall'] as const).map((clock) => {
    const [left, right] = [ratesOf(base, cell, clock), ratesOf(head, cell, clock)];
    return left.length === 0 || right.length === 0 ? null : median(right) / median(left);
  });
  if (cpu === undefined || cpu === null) return [];
  if (wall === undefined || wall === null)
    return [
      finding('cpu-and-wall-disagree', `${cell.id}: there is no wall time to hold the CPU time against`),
    ];
  if (Math.max(cpu / wall, wall / cpu) <= limits.cpuToWall) return [];
  const factors = [cpu, wall].map((ratio) => Number(ratio.toPrecision(3)));
  return [
    finding(
      'cpu-and-wall-disagree',
      `${cell.id}: ${factors[0]} times as fast by CPU time, but ${factors[1]} times by wall time (medians)`,
    ),
  ];
}

/**
 * Samples of a launch whose CPU time is more than the engine's threads can have spent, whichever clock decides: then one of the two is wrong.
 * Without both times there is nothing to hold against each other.
 */
function cpuBeyondWall(cell: PlannedCell, launch: Launch): Finding[] {
  const threads = launch.ready?.witness.threads ?? 1;
  return samplesOf(launch, cell.id, 'sample').flatMap(({ answer, prompt }) => {
    const [cpu, wall] = [phaseMs(answer, cell.phase, 'cpu'), phaseMs(answer, cell.phase, 'wall')];
    if (cpu === null || wall === null) return [];
    if (cpu <= wall * threads * (1 + limits.cpuShare) + limits.cpuMs) return [];
    const message = `${prompt} in ${launch.id}: ${shown(cpu)} of CPU time in ${shown(wall)} on ${counted(threads, 'thread')}`;
    return [finding('cpu-beyond-wall', message)];
  });
}

const beyondWall = new PerLaunch<readonly Finding[]>();

/** Why the times of two arms cannot be compared in a cell; empty when they can, or while one has no sample. */
export function clockMismatches(
  { protocol: { clock }, decision }: Plan,
  cell: PlannedCell,
  base: readonly Launch[],
  head: readonly Launch[],
): Finding[] {
  const [left, right] = [retained(cell, base), retained(cell, head)];
  if (left.length === 0 || right.length === 0) return [];
  const names: [string, string] = [base[0]?.arm ?? 'base', head[0]?.arm ?? 'head'];
  const gaps = gapFindings(cell, left, right, names);
  const times = gaps.length > 0 ? gaps : effectFindings(decision, cell, base, head);
  const impossible = [...base, ...head].flatMap((launch) =>
    beyondWall.of(launch, cell, () => cpuBeyondWall(cell, launch)),
  );
  // Where wall time decides, the effect by CPU time may be another one: a device, or more threads, did the work.
  return clock === 'wall'
    ? [...times, ...impossible]
    : [...times, ...cpuFindings(cell, base, head), ...impossible];
}
