/** Readings one after the other in this process: which of them show everybody. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { telemetrySampleSchema } from '../../../src/journal/telemetry.js';
import { TelemetryReader } from '../../../src/machine/telemetry-reading.js';

const READINGS = 30;
/** No process has it. */
const NO_GROUP = 2 ** 30;

const isThis = ({ pid }: { pid: number }): boolean => pid === process.pid;

describe('readings of telemetry', () => {
  test('show everybody at both ends, and rise from one to the next', (t) => {
    // Whoever else is there is another's group: this process, where the engine is none of the machine.
    const reader = new TelemetryReader(NO_GROUP, [process.ppid], false);
    t.after(() => reader.close());
    const first = reader.first();
    const last = reader.next(true);
    for (const sample of [first, last]) {
      telemetrySampleSchema.parse(sample);
      assert.ok(sample.others?.some(isThis));
      assert.ok(!sample.others?.some(({ pid }) => pid === process.ppid));
      assert.ok(!('gpuUsers' in sample));
    }
    for (const counter of ['atMs', 'selfCpuMs'] as const) assert.ok(last[counter] > first[counter], counter);
    for (const counter of ['busyTicks', 'totalTicks', 'ownTicks'] as const)
      assert.ok(last[counter] >= first[counter], counter);
  });

  test('ask who holds a device at both ends and every fifth time at least, though nobody works', (t) => {
    const reader = new TelemetryReader(NO_GROUP, [], true);
    t.after(() => reader.close());
    const samples = [reader.first()];
    while (samples.length < READINGS) samples.push(reader.next(samples.length === READINGS - 1));
    const asked = samples.flatMap(({ gpuUsers }, at) => (gpuUsers === undefined ? [] : [at]));
    assert.equal(asked[0], 0);
    assert.equal(asked.at(-1), READINGS - 1);
    for (const [index, at] of asked.entries())
      assert.ok(at - (asked[index - 1] ?? 0) <= 5, `${at} of ${asked.join(', ')}`);
    const whole = samples.flatMap(({ others }, at) => (others?.some(isThis) ? [at] : []));
    for (const at of asked) assert.ok(whole.includes(at), `${at} of ${whole.join(', ')}`);
    // The others show suspects only, of whom there are five at most.
    for (const [at, { others = [] }] of samples.entries())
      assert.ok(asked.includes(at) || others.length <= 5, `${at}: ${others.length}`);
  });
});
