/**
 * What telemetry costs: `node dist/test/bench/telemetry-cost.js [SECONDS [DIST...]]`. Prints figures and judges nothing. Watches a process
 * that sleeps, for so many seconds each (default 30), on the machine as it is and then beside 150 more processes that sleep. Each further
 * DIST is the `dist` folder of another revision of this project; they watch at the same time, so that they are compared side by side.
 * The kernel's own account of the process is printed beside what it says of itself.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { median } from '../../src/analysis/statistics.js';
import { summariseTelemetry } from '../../src/analysis/telemetry.js';
import { parseTelemetry, type TelemetrySample } from '../../src/journal/telemetry.js';
import { processIds } from '../../src/machine/procfs.js';
import type { Telemetry } from '../../src/machine/telemetry.js';

const NEIGHBOURS = 150;

/** More others than this are all of them. */
const SUSPECTS = 5;

/** CPU time of all threads that live, in milliseconds, as the scheduler counts it. */
function cpuMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const ns = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'latin1').split(' ')[0]),
  );
  return ns.reduce((sum, value) => sum + value, 0) / 1e6;
}

interface Watching {
  dist: string;
  telemetry: Telemetry;
  path: string;
  /** The kernel's account each time that a line was there; of the first line, when watching began. */
  seen: { lines: number; cpuMs: number }[];
}

const linesOf = (path: string): number => readFileSync(path, 'latin1').split('\n').length - 1;

function look({ telemetry, path, seen }: Watching): void {
  const lines = linesOf(path);
  if (lines !== seen.at(-1)?.lines) seen.push({ lines, cpuMs: cpuMs(telemetry.pid ?? 0) });
}

/** Median cost of a reading, where each was seen by itself. `whole` have others beyond the few that are looked at each time. */
function costMs(seen: Watching['seen'], samples: readonly TelemetrySample[], whole: boolean): string {
  const costs = seen.flatMap((now, at) => {
    const before = seen[at - 1];
    const isWhole = (samples[now.lines - 1]?.others?.length ?? 0) > SUSPECTS;
    return before?.lines === now.lines - 1 && isWhole === whole ? [now.cpuMs - before.cpuMs] : [];
  });
  return costs.length === 0 ? 'none' : `${median(costs).toFixed(2)} ms (of ${costs.length})`;
}

const sleeper = (seconds: number): ChildProcess =>
  spawn('sleep', [String(seconds)], { detached: true, stdio: 'ignore' });

async function watchAll(dists: readonly string[], seconds: number, folder: string): Promise<void> {
  const engine = sleeper(10 * seconds + 60);
  const watching: Watching[] = [];
  try {
    for (const [at, dist] of dists.entries()) {
      const from = (await import(pathToFileURL(join(dist, 'src/machine/telemetry.js')).href)) as {
        Telemetry: typeof Telemetry;
      };
      watching.push({ dist, telemetry: new from.Telemetry(), path: join(folder, `${at}.jsonl`), seen: [] });
    }
    // Long enough for the processes to have started, as they have when the first engine of a session is ready.
    await wait(2000);
    for (const one of watching) await one.telemetry.watch(engine.pid ?? 0, one.path);
    const end = performance.now() + 1000 * seconds;
    for (; performance.now() < end; await wait(50)) watching.forEach(look);
    for (const one of watching) {
      const { dist, telemetry, path, seen } = one;
      await telemetry.finish();
      look(one);
      const samples = parseTelemetry(readFileSync(path, 'utf8'), path);
      rmSync(path);
      const kernelMs = (seen.at(-1)?.cpuMs ?? 0) - (seen[0]?.cpuMs ?? 0);
      console.log(
        `${dist}: plain ${costMs(seen, samples, false)}, whole ${costMs(seen, samples, true)}, ${(kernelMs / seconds).toFixed(2)} ms a second; ` +
          `by its own account ${(100 * summariseTelemetry(samples).costShare).toFixed(3)} % of the CPU time`,
      );
    }
  } finally {
    for (const { telemetry } of watching) telemetry.close();
    engine.kill('SIGKILL');
  }
}

const [given = '30', ...others] = process.argv.slice(2);
const seconds = Number(given);
const here = fileURLToPath(new URL('../../', import.meta.url));
const dists = [...others.map((dist) => resolve(dist)), here];
const folder = mkdtempSync(join(tmpdir(), 'qualify-telemetry-cost-'));
const neighbours: ChildProcess[] = [];
try {
  console.log(`beside ${processIds().length} processes, ${seconds} s`);
  await watchAll(dists, seconds, folder);
  for (let n = 0; n < NEIGHBOURS; n++) neighbours.push(sleeper(10 * seconds + 60));
  console.log(`beside ${processIds().length} processes, ${seconds} s`);
  await watchAll(dists, seconds, folder);
} finally {
  for (const neighbour of neighbours) neighbour.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}
