/** A launch's telemetry in a few numbers, and the rules that void launches by it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { summariseTelemetry } from '../../../src/analysis/telemetry.js';
import type { Telemetry } from '../../../src/journal/entries.js';
import { parseTelemetry, type TelemetrySample } from '../../../src/journal/telemetry.js';
import type { MatrixInput } from '../../../src/matrix/schema.js';
import { type Draft, makePlan, verdictOf } from '../../fixtures/journal.js';

const sample = (atMs: number, changes: Partial<TelemetrySample> = {}): TelemetrySample => ({
  atMs,
  clockMhz: 3000,
  temperatureC: 40,
  throttles: 7,
  load: 1,
  busyTicks: atMs / 10,
  totalTicks: atMs / 5,
  ownTicks: atMs / 10,
  majorFaults: 0,
  swapIns: 0,
  pressureUs: { cpu: 0, memory: 0, io: 0 },
  selfCpuMs: 0,
  gpus: [],
  ...changes,
});

describe('the summary of telemetry', () => {
  test('takes what rose between the ends, and the extremes in between', () => {
    const summary = summariseTelemetry([
      sample(0, { selfCpuMs: 30 }),
      sample(1000, { clockMhz: 2000, temperatureC: 81, load: 3 }),
      sample(2000, { throttles: 9, selfCpuMs: 34, pressureUs: { cpu: 500_000, memory: 1000, io: 0 } }),
    ]);
    assert.equal(summary.samples, 3);
    assert.deepEqual(summary.clockMhz, { low: 2000, median: 3000, high: 3000 });
    assert.equal(summary.highestC, 81);
    assert.equal(summary.throttles, 2);
    assert.equal(summary.highestLoad, 3);
    assert.deepEqual(summary.pressure, { cpu: 0.25, memory: 0.0005, io: 0 });
    // 4 ms of 2 CPUs for 2 s.
    assert.equal(summary.costShare, 0.001);
  });

  test('names who else used the machine, most first, and is not fooled by a number that is used again', () => {
    const others = [
      [
        { pid: 5, name: 'cron', cpuTicks: 100 },
        { pid: 6, name: 'cc1plus', cpuTicks: 0 },
        { pid: 9, name: 'idle', cpuTicks: 40 },
      ],
      [
        { pid: 5, name: 'cron', cpuTicks: 102 },
        { pid: 6, name: 'cc1plus', cpuTicks: 50 },
        { pid: 7, name: 'cc1plus', cpuTicks: 5 },
        { pid: 9, name: 'idle', cpuTicks: 40 },
      ],
      [
        { pid: 5, name: 'sh', cpuTicks: 1 },
        { pid: 7, name: 'cc1plus', cpuTicks: 25 },
        { pid: 9, name: 'idle', cpuTicks: 40 },
      ],
    ];
    const summary = summariseTelemetry(others.map((list, index) => sample(index * 1000, { others: list })));
    // 50 and 20 of 400 ticks. What the process had used that came to cron's number is nobody's.
    assert.deepEqual(summary.others, [{ name: 'cc1plus', cpuShare: 70 / 400 }]);
  });

  test('has null, not zero, for what the system does not say', () => {
    const unknown = { clockMhz: null, temperatureC: null, throttles: null, pressureUs: null };
    const summary = summariseTelemetry([sample(0, unknown), sample(1000, unknown)]);
    assert.deepEqual(
      [summary.clockMhz, summary.highestC, summary.throttles, summary.pressure, summary.gpuUsers],
      [null, null, null, null, null],
    );
  });

  test('speaks of other users of a device only where the engine uses it', () => {
    const users = (engine: boolean) => sample(0, { gpuUsers: { engine, others: ['Xorg', 'llama'] } });
    assert.equal(summariseTelemetry([users(false), users(false)]).gpuUsers, null);
    assert.deepEqual(summariseTelemetry([users(false), users(true)]).gpuUsers, ['Xorg', 'llama']);
  });

  test('is of two readings or more', () => {
    assert.throws(() => summariseTelemetry([sample(0)]), RangeError);
  });

  test('refuses a line that is none, by its number', () => {
    const text = `${JSON.stringify(sample(0))}\n{"atMs":1}\n`;
    assert.throws(
      () => parseTelemetry(text, 'telemetry.jsonl'),
      (error: Error & { where?: string }) => error.where === 'telemetry.jsonl:2',
    );
  });
});

/** Verdict of a calm journal in which one entry of the first launch of head is changed. */
const judged = (kind: 'telemetry' | 'load', change: object | null, matrix: Partial<MatrixInput> = {}) =>
  verdictOf(makePlan(matrix), {
    alter: (draft: Draft) => {
      if (draft.kind !== kind || draft.launch !== 'r0-head') return draft;
      return change === null ? null : ({ ...draft, ...change } as Draft);
    },
  });

describe('the rules that void a launch', () => {
  const cases: [string, 'telemetry' | 'load', Partial<Telemetry> | object | null, string][] = [
    ['heat', 'telemetry', { throttles: 1 }, 'throttled'],
    ['waiting for memory', 'telemetry', { pressure: { cpu: 0.9, memory: 0.06, io: 0.9 } }, 'memory-pressure'],
    ['a shared device', 'telemetry', { gpuUsers: ['ollama'] }, 'gpu-shared'],
    ['a disk', 'load', { majorFaults: 65 }, 'major-faults'],
    ['nobody watching', 'telemetry', null, 'telemetry-missing'],
  ];
  for (const [what, kind, change, code] of cases) {
    test(`by ${what}: ${code}`, () => {
      const verdict = judged(kind, change);
      assert.equal(verdict.result, 'contaminated');
      assert.equal(verdict.exitCode, 14);
      assert.ok(
        verdict.reasons.some((reason) => reason.code === code),
        JSON.stringify(verdict.reasons),
      );
    });
  }

  test('are those of the plan, not of this version', () => {
    const invalidation = { throttles: 1, memoryPressure: 0.1, majorFaults: 100 };
    const protocol = { invalidation };
    assert.equal(judged('telemetry', { throttles: 1 }, { protocol }).result, 'pass');
    assert.equal(judged('telemetry', { throttles: 2 }, { protocol }).result, 'contaminated');
    assert.equal(judged('load', { majorFaults: 100 }, { protocol }).result, 'pass');
  });

  test('void arms whose clocks are apart, whichever is slower', () => {
    for (const slow of ['base', 'head']) {
      const plan = makePlan();
      const clocked = (mhz: number) => ({ low: mhz, median: mhz, high: mhz });
      const at = (share: number) =>
        verdictOf(plan, {
          alter: (draft: Draft) =>
            draft.kind === 'telemetry' && draft.launch.endsWith(slow)
              ? { ...draft, clockMhz: clocked(3000 * (1 - share)) }
              : draft,
        });
      assert.equal(at(0.06).reasons[0]?.code, 'cpu-clocks-apart');
      assert.equal(at(0.04).result, 'pass');
    }
  });

  test('ask nothing of an arm that the matrix does not watch', () => {
    const arms = { base: { switches: { DFLASH_MOE_GROUPED_MMID_PREFILL: '0' } } };
    const head = { switches: { DFLASH_MOE_GROUPED_MMID_PREFILL: '1' }, telemetry: false };
    const verdict = verdictOf(makePlan({ arms: { ...arms, head } }), {
      alter: (draft: Draft) => (draft.kind === 'telemetry' && draft.launch.endsWith('head') ? null : draft),
    });
    assert.equal(verdict.result, 'pass');
  });
});
