/** Who of the others is looked at in each reading, and whether they account for what others used. Pure. */
import type { TelemetrySample } from '../journal/telemetry.js';

type Others = NonNullable<TelemetrySample['others']>;
type Moment = Pick<TelemetrySample, 'atMs' | 'busyTicks' | 'ownTicks' | 'others'>;

/** As many as a summary names. */
const MOST_SUSPECTS = 5;

/** In CPUs, not in shares of the machine: one process that spins must show on any. Above what counting by ticks gets wrong in a second. */
const UNEXPLAINED_CPUS = 0.05;

const TICK_MS = 10;

/** Those that used CPU time between two readings of all processes: most first, by pid. */
export function suspectsOf(before: Others, now: Others): number[] {
  const known = new Map(before.map(({ pid, cpuTicks }) => [pid, cpuTicks]));
  return now
    .map(({ pid, cpuTicks }) => ({ pid, rise: cpuTicks - (known.get(pid) ?? 0) }))
    .filter(({ rise }) => rise > 0)
    .toSorted((a, b) => b.rise - a.rise)
    .slice(0, MOST_SUSPECTS)
    .map(({ pid }) => pid);
}

/** True where neither the engine, the harness nor those that both readings name used more than a twentieth of one CPU in between. */
export function isUnexplained(before: Moment, now: Moment): boolean {
  const known = new Map(before.others?.map(({ pid, cpuTicks }) => [pid, cpuTicks]));
  // Who ended takes its ticks with it, hence the floors.
  const named = (now.others ?? []).map(({ pid, cpuTicks }) =>
    Math.max(0, cpuTicks - (known.get(pid) ?? cpuTicks)),
  );
  const own = Math.max(0, now.ownTicks - before.ownTicks);
  const explained = named.reduce((total, ticks) => total + ticks, own);
  const unexplained = now.busyTicks - before.busyTicks - explained;
  return TICK_MS * unexplained > UNEXPLAINED_CPUS * (now.atMs - before.atMs);
}
