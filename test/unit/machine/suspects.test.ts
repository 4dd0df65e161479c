/** When telemetry asks who works, and whom it goes on looking at. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isUnexplained, suspectsOf } from '../../../src/machine/suspects.js';

const other = (pid: number, cpuTicks: number) => ({ pid, name: `p${pid}`, cpuTicks });
const start = { atMs: 0, busyTicks: 1000, ownTicks: 500 };

describe('suspects', () => {
  test('are those that used most between two readings of all, and those that came', () => {
    const before = [other(1, 900), other(2, 10), other(3, 10)];
    const now = [other(1, 900), other(2, 11), other(3, 60), other(4, 30)];
    assert.deepEqual(suspectsOf(before, now), [3, 4, 2]);
  });

  test('are five at most', () => {
    const now = Array.from({ length: 9 }, (_, pid) => other(pid, 100 - pid));
    assert.deepEqual(suspectsOf([], now), [0, 1, 2, 3, 4]);
  });
});

describe('what others used in a second', () => {
  test('is explained by the engine and the harness', () => {
    assert.equal(isUnexplained(start, { atMs: 1000, busyTicks: 1200, ownTicks: 700 }), false);
  });

  test('may be a twentieth of one CPU, and no more', () => {
    assert.equal(isUnexplained(start, { atMs: 1000, busyTicks: 1205, ownTicks: 700 }), false);
    assert.equal(isUnexplained(start, { atMs: 1000, busyTicks: 1206, ownTicks: 700 }), true);
    assert.equal(isUnexplained(start, { atMs: 2000, busyTicks: 1206, ownTicks: 700 }), false);
  });

  test('is explained by those that both readings show', () => {
    const now = { atMs: 1000, busyTicks: 1100, ownTicks: 500, others: [other(7, 390)] };
    assert.equal(isUnexplained({ ...start, others: [other(7, 300), other(8, 1)] }, now), true);
    assert.equal(isUnexplained({ ...start, others: [other(7, 290), other(8, 1)] }, now), false);
    assert.equal(isUnexplained(start, now), true, 'what it used before it was seen is not known');
  });

  test('is not made less by who ended and took its ticks with it', () => {
    const now = { atMs: 1000, busyTicks: 1100, ownTicks: 100, others: [other(7, 1)] };
    assert.equal(isUnexplained({ ...start, others: [other(7, 300)] }, now), true);
  });
});
