import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadBetween, parseCpuLine } from '../../../src/machine/load.js';

const reading = (busyTicks: number, totalTicks: number, ownTicks: number, majorFaults = 0, swapIns = 0) => ({
  busyTicks,
  totalTicks,
  ownTicks,
  majorFaults,
  swapIns,
});

describe('load', () => {
  test('counts idle and waiting for disks as not busy, and stolen time as busy', () => {
    const text = 'cpu  10 1 20 300 40 5 6 7 99 0\ncpu0 1 1 1 1\n';
    assert.deepEqual(parseCpuLine(text), { totalTicks: 389, busyTicks: 49 });
  });

  test('is the busy time that is not our own, over all CPUs', () => {
    const load = loadBetween(reading(100, 1000, 50, 2, 10), reading(180, 1200, 100, 5, 14));
    assert.deepEqual(load, { foreignCpuShare: 30 / 200, majorFaults: 3, swapIns: 4 });
  });

  test('is never negative, nor beyond the machine', () => {
    assert.equal(loadBetween(reading(0, 0, 0), reading(10, 100, 12)).foreignCpuShare, 0);
    assert.equal(loadBetween(reading(0, 0, 100), reading(100, 100, 0)).foreignCpuShare, 1);
    assert.equal(loadBetween(reading(5, 5, 5), reading(5, 5, 5)).foreignCpuShare, 0);
  });
});
