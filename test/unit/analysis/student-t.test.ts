import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { tQuantile, tUpperTail } from '../../../src/analysis/student-t.js';

/** R 4: qt(p, df), 15 digits. */
const quantiles: [number, number, number][] = [
  [0.975, 1, 12.7062047361747],
  [0.975, 2, 4.30265272974946],
  [0.975, 5, 2.57058183563631],
  [0.975, 10, 2.22813885198627],
  [0.95, 5, 2.01504837333302],
  [0.95, 11, 1.79588481870404],
  [0.99, 23, 2.49986673949467],
  [0.8, 5, 0.919543780235548],
  [0.9999, 3, 22.2037422727106],
];

test('quantiles of Student t agree with published values to 1e-10', () => {
  for (const [probability, freedom, expected] of quantiles) {
    assert.ok(
      Math.abs(tQuantile(probability, freedom) - expected) < 1e-10 * Math.max(1, expected),
      `${freedom}`,
    );
  }
});

test('the tail of a quantile is the probability that was asked for, on both sides', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1e-4, max: 1 - 1e-4, noNaN: true }),
      fc.integer({ min: 1, max: 95 }),
      (p, freedom) => {
        const t = tQuantile(p, freedom);
        assert.ok(Math.abs(1 - tUpperTail(t, freedom) - p) < 1e-12);
        assert.ok(Math.abs(tQuantile(1 - p, freedom) + t) < 1e-9 * Math.max(1, Math.abs(t)));
      },
    ),
  );
});

test('one degree of freedom is the Cauchy distribution, two have a closed form', () => {
  for (const t of [-3, -0.5, 0, 0.1, 2, 40]) {
    assert.ok(Math.abs(tUpperTail(t, 1) - (0.5 - Math.atan(t) / Math.PI)) < 1e-15);
    assert.ok(Math.abs(tUpperTail(t, 2) - (0.5 - t / (2 * Math.sqrt(2 + t * t)))) < 1e-15);
  }
});

test('refuses probabilities and degrees of freedom that have no quantile', () => {
  for (const [p, freedom] of [
    [0, 5],
    [1, 5],
    [Number.NaN, 5],
    [0.5, 0],
    [0.9, 2.5],
  ] as const) {
    assert.throws(() => tQuantile(p, freedom), RangeError);
  }
});
