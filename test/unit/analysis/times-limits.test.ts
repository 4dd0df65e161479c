import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Distance } from '../../../src/analysis/bounded.js';
import { beyond } from '../../../src/analysis/parity.js';
import { timesLimits } from '../../../src/analysis/times-limits.js';

const limits = { top1: 0.9, common: 0.8, meanLogProbability: 0.02 };
const distance = (more: Partial<Distance>): Distance => ({
  positions: 32,
  top1: 1,
  common: 1,
  meanLogProbability: 0,
  ...more,
});

describe('a distance in limits', () => {
  test('is the largest of the three measures', () => {
    assert.equal(timesLimits(distance({}), limits), 0);
    const apart = distance({ meanLogProbability: 0.05, top1: 0.98, common: 0.9 });
    assert.ok(Math.abs((timesLimits(apart, limits) ?? 0) - 2.5) < 1e-9);
    assert.ok(Math.abs((timesLimits(distance({ common: 0.4 }), limits) ?? 0) - 3) < 1e-9);
    assert.ok(Math.abs((timesLimits(distance({ top1: 0.85 }), limits) ?? 0) - 1.5) < 1e-9);
  });

  test('has no bound where nothing may be off, or nothing is in common', () => {
    const strict = { ...limits, top1: 1 };
    assert.equal(timesLimits(distance({}), strict), 0);
    assert.equal(timesLimits(distance({ top1: 0.99 }), strict), null);
    assert.equal(timesLimits(distance({ meanLogProbability: null, common: 0 }), limits), null);
  });

  test('is beyond 1 exactly where parity fails', () => {
    // Sixteenths, so that no share lies on a limit by rounding alone.
    const share = fc.integer({ min: 0, max: 16 }).map((sixteenths) => sixteenths / 16);
    const nats = fc.integer({ min: 1, max: 64 }).map((parts) => parts / 32);
    const cases = fc.record({ top1: share, common: share, meanLogProbability: fc.option(nats) });
    const asked = fc.record({ top1: share, common: share, meanLogProbability: nats });
    fc.assert(
      fc.property(cases, asked, (seen, rule) => {
        const times = timesLimits(distance(seen), rule) ?? Number.POSITIVE_INFINITY;
        assert.equal(times > 1, beyond(distance(seen), rule).length > 0);
      }),
    );
  });
});
