/** Do two arms tell the time alike? A server that passes its time off as less in one arm would be the faster for it. */
import type { PlannedCell } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import type { Launch, Sample } from './observations.js';
import { type Clock, phaseMs, rateOf } from './rate.js';
import { median } from './statistics.js';
import { retained } from './summary.js';

/** Medians over the samples of an arm: what the client saw, what the server claims, and the rest; milliseconds. */
interface Times {
  client: number;
  claimed: number;
  gap: number;
}

/** Wall time that the server accounts for. What it does not tell, it does not account for. */
export const claimedMs = ({ answer }: Sample): number => (answer.promptMs ?? 0) + (answer.predictedMs ?? 0);

function timesOf(samples: readonly Sample[]): Times {
  return {
    client: median(samples.map((sample) => sample.answer.clientMs)),
    claimed: median(samples.map(claimedMs)),
    gap: median(samples.map((sample) => sample.answer.clientMs - claimedMs(sample))),
  };
}

const shown = (ms: number): string => `${Number(ms.toPrecision(3))} ms`;

/** Time that the client saw and the server does not account for: alike in both arms, and not most of it. */
function gapFindings(base: readonly Sample[], head: readonly Sample[], names: [string, string]): Finding[] {
  const arms = [timesOf(base), timesOf(head)] as const;
  const [left, right] = arms;
  const told = arms.map(({ client, claimed }, at) => `${names[at]} ${shown(claimed)} of ${shown(client)}`);
  const message = `the servers account for too little of the time that the client saw, or not alike: ${told.join(', ')} (medians)`;
  const allowed = Math.max(limits.gapMs, limits.gapShare * Math.min(left.client, right.client));
  const apart = Math.abs(left.gap - right.gap) > allowed;
  const hidden = arms.some(({ gap, claimed }) => gap > claimed && gap > limits.hiddenMs);
  return apart || hidden ? [finding('clocks-contradict', message)] : [];
}

const rates = (samples: readonly Sample[], cell: PlannedCell, clock: Clock): number[] =>
  samples.flatMap((sample) => rateOf(sample.answer, cell.phase, clock) ?? []);

/** The effect by CPU time may differ from that by wall time, as load does to it, but not be another one. */
function cpuFindings(cell: PlannedCell, base: readonly Sample[], head: readonly Sample[]): Finding[] {
  const [cpu, wall] = (['cpu', 'wall'] as const).map((clock) => {
    const [left, right] = [rates(base, cell, clock), rates(head, cell, clock)];
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

/** Samples whose CPU time is more than the engine's threads can have spent. Without a wall time nothing bounds it. */
function cpuBeyondWall(cell: PlannedCell, launches: readonly Launch[]): Finding[] {
  return launches.flatMap((launch) => {
    const threads = launch.ready?.witness.threads ?? 1;
    return retained(cell, [launch]).flatMap(({ answer, prompt }) => {
      const [cpu, wall] = (['cpu', 'wall'] as const).map((clock) => phaseMs(answer, cell.phase, clock));
      if (cpu == null || wall == null) return [];
      if (cpu <= wall * threads * (1 + limits.cpuShare) + limits.cpuMs) return [];
      const message = `${prompt} in ${launch.id}: ${shown(cpu)} of CPU time in ${shown(wall)} on ${threads} threads`;
      return [finding('cpu-beyond-wall', message)];
    });
  });
}

/** Why the times of two arms cannot be compared in a cell; empty when they can, or while one has no sample. */
export function clockMismatches(
  cell: PlannedCell,
  base: readonly Launch[],
  head: readonly Launch[],
  clock: Clock,
): Finding[] {
  const [left, right] = [retained(cell, base), retained(cell, head)];
  if (left.length === 0 || right.length === 0) return [];
  const names: [string, string] = [base[0]?.arm ?? 'base', head[0]?.arm ?? 'head'];
  const gaps = gapFindings(left, right, names);
  if (clock === 'wall') return gaps;
  return [...gaps, ...cpuFindings(cell, left, right), ...cpuBeyondWall(cell, [...base, ...head])];
}
