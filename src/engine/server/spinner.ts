/** A thread that keeps a CPU busy for so long, then waits for a point in time. Started by the host when a slowdown is planted. */
import { parentPort } from 'node:worker_threads';
import { z } from 'zod';

/** Milliseconds of CPU time to use up, and the monotonic time (ns) before which not to answer. */
const spinSchema = z.strictObject({ cpuMs: z.number().min(0), untilNs: z.bigint() });
export type Spin = z.infer<typeof spinSchema>;

/** Two looks at the clock lie a fraction of a microsecond apart; where they do not, another process had the CPU. */
const PREEMPTED_MS = 0.05;

const asleep = new Int32Array(new SharedArrayBuffer(4));

/** Uses up CPU time of this thread. Answers the milliseconds that it really had. */
function spin(cpuMs: number): number {
  let used = 0;
  let last = performance.now();
  while (used < cpuMs) {
    const now = performance.now();
    if (now - last < PREEMPTED_MS) used += now - last;
    last = now;
  }
  return used;
}

parentPort?.on('message', (message: unknown) => {
  const { cpuMs, untilNs } = spinSchema.parse(message);
  const usedMs = spin(cpuMs);
  const leftMs = Number(untilNs - process.hrtime.bigint()) / 1e6;
  if (leftMs > 0) Atomics.wait(asleep, 0, 0, leftMs);
  parentPort?.postMessage(usedMs);
});
