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

test('t bounds of six rounds are those of the formula', () => {
  // mean 0.01, sd 0.01, t(0.9806, 5) = 2.7645...: computed by bisection of the density elsewhere.
  const values = [-0.001, 0.021, 0.01, 0.01, 0, 0.02];
  const effect = logEffect(values, decision);
  near(effect.centre, 0.01);
  const sd = Math.sqrt(values.reduce((sum, v) => sum + (v - 0.01) ** 2, 0) / 5);
  assert.ok(effect.t);
  const quantile = ((effect.t.upper - 0.01) * Math.sqrt(6)) / sd;
  // qt(0.9806, 5) lies between qt(0.98, 5) = 2.756509 and qt(0.981, 5) = 2.800... .
  assert.ok(quantile > 2.756509 && quantile < 2.81, `${quantile}`);
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

test('more noise detects less, and asks for more rounds', () => {
  const spread = (size: number): number[] => [1, -1, 1, -1, 1, -1].map((sign) => sign * size);
  const [quiet, loud] = [logEffect(spread(0.005), decision), logEffect(spread(0.03), decision)];
  const [little, much] = [minimumDetectablePercent(quiet), minimumDetectablePercent(loud)];
  assert.ok(little !== null && much !== null && little < much);
  const margin = Math.log(0.98);
  const [few, many] = [roundsStillNeeded(quiet, margin), roundsStillNeeded(loud, margin)];
  assert.ok(few !== null && many !== null && few <= many && many > 2, `${few}, ${many}`);
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
