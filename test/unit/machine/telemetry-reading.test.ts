/** Readings one after the other in this process: which of them show everybody. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { telemetrySampleSchema } from '../../../src/journal/telemetry.js';
import { TelemetryReader } from '../../../src/machine/telemetry-reading.js';

const READINGS = 30;

describe('readings of telemetry', () => {
  test('show everybody at both ends, and rise from one to the next', (t) => {
    const reader = new TelemetryReader(process.pid, [process.ppid], false);
    t.after(() => reader.close());
    const first = reader.first();
    const last = reader.next(true);
    for (const sample of [first, last]) {
      telemetrySampleSchema.parse(sample);
      assert.ok((sample.others?.length ?? 0) > 5);
      assert.ok(!sample.others?.some(({ pid }) => pid === process.ppid));
      assert.ok(!('gpuUsers' in sample));
    }
    for (const counter of ['atMs', 'selfCpuMs'] as const) assert.ok(last[counter] > first[counter], counter);
    for (const counter of ['busyTicks', 'totalTicks', 'ownTicks'] as const)
      assert.ok(last[counter] >= first[counter], counter);
  });

  test('ask who holds a device at both ends and every fifth time at least, though nobody works', (t) => {
    const reader = new TelemetryReader(process.pid, [], true);
    t.after(() => reader.close());
    const samples = [reader.first()];
    while (samples.length < READINGS) samples.push(reader.next(samples.length === READINGS - 1));
    const asked = samples.flatMap(({ gpuUsers }, at) => (gpuUsers === undefined ? [] : [at]));
    assert.equal(asked[0], 0);
    assert.equal(asked.at(-1), READINGS - 1);
    for (const [index, at] of asked.entries())
      assert.ok(at - (asked[index - 1] ?? 0) <= 5, `${at} of ${asked.join(', ')}`);
    assert.deepEqual(samples.filter(({ others }) => (others?.length ?? 0) > 5).length, asked.length);
  });
});
