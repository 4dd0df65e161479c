import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { logEffect, minimumDetectablePercent, roundsStillNeeded } from '../../../src/analysis/effect.js';
import { sampleDeviation } from '../../../src/analysis/statistics.js';
import { tQuantile } from '../../../src/analysis/student-t.js';
import type { Plan } from '../../../src/plan/schema.js';

const decision: Plan['decision'] = {
  rule: 'zone-v1',
  looks: [6, 12, 18, 24],
  levelPerLook: 0.0194,
  interval: 't',
};
const rounds = fc.array(fc.double({ min: -0.5, max: 0.5, noNaN: true }), { minLength: 6, maxLength: 24 });
const near = (a: number, b: number): void => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

/** Quantiles of Student t with 5 degrees of freedom at 1 - .0194 and at the power .8: the density integrated elsewhere. */
const [t9806, t8] = [2.7822214746, 0.9195437802];

test('t bounds of six rounds are those of the formula', () => {
  // Mean 0.01.
  const values = [-0.001, 0.021, 0.01, 0.01, 0, 0.02];
  const effect = logEffect(values, decision);
  near(effect.centre, 0.01);
  const sd = Math.sqrt(values.reduce((sum, v) => sum + (v - 0.01) ** 2, 0) / 5);
  assert.ok(effect.t);
  const quantile = ((effect.t.upper - 0.01) * Math.sqrt(6)) / sd;
  assert.ok(Math.abs(quantile - t9806) < 1e-9, `${quantile}`);
  near(effect.t.upper - 0.01, 0.01 - effect.t.lower);
});

test('the plan names the interval that decides; both are kept', () => {
  const values = [0.01, 0.02, 0.03, 0.01, 0.02, 0.09];
  const [t, walsh] = [logEffect(values, decision), logEffect(values, { ...decision, interval: 'walsh' })];
  assert.deepEqual(t.deciding, t.t);
  assert.deepEqual(walsh.deciding, walsh.walsh);
  assert.deepEqual(t.walsh, walsh.walsh);
  assert.notEqual(t.centre, walsh.centre);
});

test('below six rounds there is an effect, but no bound and no claim', () => {
  for (let count = 1; count < 6; count++) {
    const effect = logEffect(
      Array.from({ length: count }, () => 0.5),
      decision,
    );
    near(effect.centre, 0.5);
    assert.equal(effect.deciding, null);
    assert.equal(effect.t, null);
    assert.equal(effect.walsh, null);
    assert.equal(effect.improvedP, 1);
    assert.equal(roundsStillNeeded(effect, Math.log(0.98)), 6 - count);
  }
});

test('the order of rounds does not matter', () => {
  fc.assert(
    fc.property(rounds, (values) => {
      const [a, b] = [
        logEffect(values, decision),
        logEffect(
          values.toSorted((x, y) => x - y),
          decision,
        ),
      ];
      near(a.centre, b.centre);
      near(a.t?.lower ?? Number.NaN, b.t?.lower ?? Number.NaN);
    }),
  );
});

test('swapping the arms negates the effect and exchanges the bounds', () => {
  fc.assert(
    fc.property(rounds, (values) => {
      const [a, b] = [
        logEffect(values, decision),
        logEffect(
          values.map((v) => -v),
          decision,
        ),
      ];
      near(a.centre, -b.centre);
      near(a.t?.lower ?? Number.NaN, -(b.t?.upper ?? Number.NaN));
      near(a.t?.upper ?? Number.NaN, -(b.t?.lower ?? Number.NaN));
    }),
  );
});

test('a common factor moves centre and bounds alike', () => {
  fc.assert(
    fc.property(rounds, fc.double({ min: -1, max: 1, noNaN: true }), (values, shift) => {
      const [a, b] = [
        logEffect(values, decision),
        logEffect(
          values.map((v) => v + shift),
          decision,
        ),
      ];
      near(a.centre + shift, b.centre);
      near((a.t?.lower ?? Number.NaN) + shift, b.t?.lower ?? Number.NaN);
    }),
  );
});

/** Six rounds about no effect, of the standard deviation `size` times the root of 6/5. */
const spread = (size: number): number[] => [1, -1, 1, -1, 1, -1].map((sign) => sign * size);

test('what six rounds can see is t at the level and t at the power, times their standard error', () => {
  for (const size of [0.005, 0.03]) {
    const standardError = (size * Math.sqrt(6 / 5)) / Math.sqrt(6);
    const expected = 100 * (1 - Math.exp(-(t9806 + t8) * standardError));
    const percent = minimumDetectablePercent(logEffect(spread(size), decision));
    assert.ok(percent !== null && Math.abs(percent - expected) < 1e-7, `${percent} is not ${expected}`);
  }
});

test('the rounds still needed are the fewest, by pairs, whose bound clears the margin', () => {
  // t(.9806, n - 1) / sqrt(n) is .8972, .7643 and .6771 at n = 8, 10 and 12; 2 % are .0202 away, which is .9221 standard
  // deviations of the first, .7377 of the second.
  for (const [size, more] of [
    [0.02, 2],
    [0.025, 6],
  ] as const)
    assert.equal(roundsStillNeeded(logEffect(spread(size), decision), Math.log(0.98)), more);
});

test('a centre on the margin is never decided', () => {
  const margin = Math.log(0.98);
  const effect = logEffect(
    [1, -1, 1, -1, 1, -1].map((sign) => margin + sign * 0.001),
    decision,
  );
  assert.equal(roundsStillNeeded({ ...effect, centre: margin }, margin), null);
});

/** The same by every quantile on the way. */
function neededByAll(values: readonly number[], margin: number): number | null {
  const { centre, level } = logEffect(values, decision);
  for (let n = values.length + 2; n <= 10_000; n = Math.max(n + 2, 2 * Math.ceil(n * 0.51))) {
    const half = (tQuantile(1 - level, n - 1) * sampleDeviation(values)) / Math.sqrt(n);
    if (half < Math.abs(centre - margin)) return n - values.length;
  }
  return null;
}

test('the rounds still needed are those of a search that leaves nothing out', () => {
  fc.assert(
    fc.property(rounds, fc.double({ min: -1, max: 0, noNaN: true }), (values, margin) => {
      assert.equal(roundsStillNeeded(logEffect(values, decision), margin), neededByAll(values, margin));
    }),
    { numRuns: 2000 },
  );
});
