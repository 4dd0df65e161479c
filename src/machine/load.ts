/** What the machine did beside the engine while a launch ran, from `/proc`. */
import { readFileSync } from 'node:fs';
import { groupMembers, processStat } from './procfs.js';

/** Readings of counters that only rise, in `USER_HZ` ticks and in counts since boot. */
interface Reading {
  busyTicks: number;
  totalTicks: number;
  /** Of the engine's group and of the harness. */
  ownTicks: number;
  majorFaults: number;
  swapIns: number;
}

interface Load {
  /** Share of the machine's whole CPU time that neither the engine nor the harness used. */
  foreignCpuShare: number;
  /** Of the engine. */
  majorFaults: number;
  /** Pages swapped in by anybody. */
  swapIns: number;
}

/** Busy and total ticks of the first line of `/proc/stat`: user nice system idle iowait irq softirq steal. */
export function parseCpuLine(stat: string): { busyTicks: number; totalTicks: number } {
  const fields = (stat.split('\n')[0] ?? '').trim().split(/\s+/).slice(1, 9).map(Number);
  const totalTicks = fields.reduce((sum, ticks) => sum + ticks, 0);
  return { totalTicks, busyTicks: totalTicks - (fields[3] ?? 0) - (fields[4] ?? 0) };
}

const swapInsOf = (vmstat: string): number => Number(/^pswpin (\d+)$/m.exec(vmstat)?.[1] ?? 0);

function read(group: number): Reading {
  const members = groupMembers(group);
  const harness = processStat(process.pid);
  const sum = (of: (stat: { cpuTicks: number; majorFaults: number }) => number): number =>
    members.reduce((total, stat) => total + of(stat), 0);
  return {
    ...parseCpuLine(readFileSync('/proc/stat', 'latin1')),
    ownTicks: sum((stat) => stat.cpuTicks) + (harness?.cpuTicks ?? 0),
    majorFaults: sum((stat) => stat.majorFaults),
    swapIns: swapInsOf(readFileSync('/proc/vmstat', 'latin1')),
  };
}

/** What happened between two readings. A member that ended in between takes its ticks with it, hence the floors. */
export function loadBetween(before: Reading, after: Reading): Load {
  const total = Math.max(1, after.totalTicks - before.totalTicks);
  const foreign = after.busyTicks - before.busyTicks - Math.max(0, after.ownTicks - before.ownTicks);
  return {
    foreignCpuShare: Math.min(1, Math.max(0, foreign / total)),
    majorFaults: Math.max(0, after.majorFaults - before.majorFaults),
    swapIns: Math.max(0, after.swapIns - before.swapIns),
  };
}

/** Watches the group from now on; the answer takes the second reading. */
export function watchLoad(group: number): () => Load {
  const before = read(group);
  return () => loadBetween(before, read(group));
}
