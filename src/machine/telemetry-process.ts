/**
 * The telemetry's own process: reads the machine at most twice a second while a launch runs, and writes a line for each reading. In a
 * process apart, so that the harness's clocks wait for nothing, and at the lowest priority. Ends when the harness does.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { TelemetrySample } from '../journal/telemetry.js';
import { type Order, orderSchema, type Reply } from './telemetry-messages.js';
import { TelemetryReader } from './telemetry-reading.js';

interface Watch {
  reader: TelemetryReader;
  file: number;
  timer: NodeJS.Timeout;
}

let watch: Watch | undefined;

const write = (file: number, sample: TelemetrySample): void => {
  writeSync(file, `${JSON.stringify(sample)}\n`);
};

function begin(order: Extract<Order, { do: 'watch' }>): void {
  if (watch !== undefined) throw new Error('another launch is watched');
  const file = openSync(order.path, 'wx', 0o644);
  const reader = new TelemetryReader(order.group, [order.harness, process.pid]);
  write(file, reader.first());
  const timer = setInterval(() => write(file, reader.next(false)), order.periodMs);
  watch = { reader, file, timer };
}

function finish(): void {
  if (watch === undefined) throw new Error('no launch is watched');
  const { reader, file, timer } = watch;
  watch = undefined;
  clearInterval(timer);
  try {
    write(file, reader.next(true));
  } finally {
    closeSync(file);
    reader.close();
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
// What loading left behind is collected now, when nothing is timed.
globalThis.gc?.();
