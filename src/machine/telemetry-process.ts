/**
 * The telemetry's own process: reads the machine at most twice a second while a launch runs, and writes a line for each reading. In a
 * process apart, so that the harness's clocks wait for nothing, and at the lowest priority. Ends when the harness does.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { type Order, orderSchema, type Reply } from './telemetry-messages.js';
import { readTelemetry, type Watched } from './telemetry-reading.js';

/** Every which reading also reads all processes. */
const WHOLE_EVERY = 5;

interface Watch {
  watched: Watched;
  beganAt: number;
  file: number;
  timer: NodeJS.Timeout;
  readings: number;
}

let watch: Watch | undefined;

function take(current: Watch, whole: boolean): void {
  const sample = readTelemetry(current.watched, current.beganAt, whole);
  writeSync(current.file, `${JSON.stringify(sample)}\n`);
  current.readings += 1;
}

function begin(order: Extract<Order, { do: 'watch' }>): void {
  if (watch !== undefined) throw new Error('another launch is watched');
  const own = [order.harness, process.pid];
  const current: Watch = {
    watched: { group: order.group, own, members: [] },
    beganAt: performance.now(),
    file: openSync(order.path, 'wx', 0o644),
    timer: setInterval(() => take(current, current.readings % WHOLE_EVERY === 0), order.periodMs),
    readings: 0,
  };
  watch = current;
  take(current, true);
}

function finish(): void {
  if (watch === undefined) throw new Error('no launch is watched');
  const current = watch;
  watch = undefined;
  clearInterval(current.timer);
  try {
    take(current, true);
  } finally {
    closeSync(current.file);
  }
}

process.on('message', (message) => {
  const reply: Reply = { error: null };
  try {
    const order = orderSchema.parse(message);
    if (order.do === 'watch') begin(order);
    else finish();
  } catch (error) {
    reply.error = error instanceof Error ? error.message : String(error);
  }
  process.send?.(reply);
});
process.on('disconnect', () => process.exit(0));
try {
  setPriority(constants.priority.PRIORITY_LOW);
} catch {
  // Where it is not allowed, it runs like any other.
}
