/** A launch's telemetry in a few numbers. */
import type { Telemetry } from '../journal/entries.js';
import type { TelemetrySample } from '../journal/telemetry.js';
import { median } from './statistics.js';

/** How many of the others are named. */
const NAMED = 5;

const most = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
};

/** How much a counter rose; processes that ended take theirs with them, hence the floor. */
const rise = (first: number, last: number): number => Math.max(0, last - first);

function clockOf(samples: readonly TelemetrySample[]): Telemetry['clockMhz'] {
  const clocks = samples.flatMap((sample) => sample.clockMhz ?? []);
  if (clocks.length === 0) return null;
  return { low: Math.min(...clocks), median: median(clocks), high: Math.max(...clocks) };
}

/** Ticks by name over the readings of all processes. A process first seen later counts from there. */
function othersOf(samples: readonly TelemetrySample[], totalTicks: number): Telemetry['others'] {
  const seen = new Map<number, { name: string; first: number; last: number }>();
  for (const { others = [] } of samples) {
    for (const { pid, name, cpuTicks } of others) {
      const known = seen.get(pid);
      // A smaller count is another process under the same number.
      if (known === undefined || known.name !== name || cpuTicks < known.last)
        seen.set(pid, { name, first: cpuTicks, last: cpuTicks });
      else known.last = cpuTicks;
    }
  }
  const byName = new Map<string, number>();
  for (const { name, first, last } of seen.values())
    byName.set(name, (byName.get(name) ?? 0) + rise(first, last));
  return [...byName]
    .filter(([, ticks]) => ticks > 0)
    .toSorted(([a, left], [b, right]) => right - left || (a < b ? -1 : 1))
    .slice(0, NAMED)
    .map(([name, ticks]) => ({ name, cpuShare: ticks / totalTicks }));
}

function pressureOf(first: TelemetrySample, last: TelemetrySample): Telemetry['pressure'] {
  if (first.pressureUs === null || last.pressureUs === null) return null;
  const [from, to] = [first.pressureUs, last.pressureUs];
  const us = Math.max(1, 1000 * (last.atMs - first.atMs));
  return {
    cpu: rise(from.cpu, to.cpu) / us,
    memory: rise(from.memory, to.memory) / us,
    io: rise(from.io, to.io) / us,
  };
}

function gpuUsersOf(samples: readonly TelemetrySample[]): string[] | null {
  const users = samples.flatMap((sample) => sample.gpuUsers ?? []);
  if (!users.some(({ engine }) => engine)) return null;
  return [...new Set(users.flatMap(({ others }) => others))].toSorted();
}

/** Summary of the samples of one launch, in order; at least two. Pure: `verify` draws it again from the file. */
export function summariseTelemetry(samples: readonly TelemetrySample[]): Telemetry {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < 2)
    throw new RangeError('telemetry of a launch has two samples or more');
  const totalTicks = Math.max(1, rise(first.totalTicks, last.totalTicks));
  const noThrottles = first.throttles === null || last.throttles === null;
  return {
    samples: samples.length,
    // A tick is 10 ms.
    costShare: rise(first.selfCpuMs, last.selfCpuMs) / (10 * totalTicks),
    clockMhz: clockOf(samples),
    highestC: most(samples.map((sample) => sample.temperatureC)),
    throttles: noThrottles ? null : rise(first.throttles ?? 0, last.throttles ?? 0),
    highestLoad: Math.max(...samples.map((sample) => sample.load)),
    others: othersOf(samples, totalTicks),
    pressure: pressureOf(first, last),
    gpus: first.gpus.map((_, index) => {
      const clocks = samples.flatMap((sample) => sample.gpus[index]?.clockMhz ?? []);
      return {
        medianMhz: clocks.length === 0 ? null : median(clocks),
        highestC: most(samples.map((sample) => sample.gpus[index]?.temperatureC ?? null)),
      };
    }),
    gpuUsers: gpuUsersOf(samples),
  };
}
