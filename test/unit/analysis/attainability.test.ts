/** Paired procedures at every n from 3 to 24: which levels can be attained is said truthfully, and no p is below its floor. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type LogEffect, logEffect } from '../../../src/analysis/effect.js';
import { pairedT } from '../../../src/analysis/paired-t.js';
import { tQuantile, tUpperTail } from '../../../src/analysis/student-t.js';
import {
  hodgesLehmann,
  signedRankCdf,
  signedRankP,
  walshAverages,
  walshInterval,
  walshRank,
  walshTail,
} from '../../../src/analysis/walsh.js';
import type { Plan } from '../../../src/plan/schema.js';

const sizes = Array.from({ length: 22 }, (_, index) => index + 3);
const levels = [0.0194, 0.025, 0.05, 0.1];

/** Share of the 2^n ways to sign the ranks in which the negative ones sum to at most w. */
function signedRankByHand(w: number, n: number): number {
  let hits = 0;
  for (let mask = 0; mask < 2 ** n; mask++) {
    let sum = 0;
    for (let rank = 1; rank <= n; rank++) if ((mask >> (rank - 1)) & 1) sum += rank;
    if (sum <= w) hits++;
  }
  return hits / 2 ** n;
}

/** Distinct magnitudes without ties, signed at random. */
const signed = (n: number) =>
  fc
    .tuple(fc.uniqueArray(fc.integer({ min: 1, max: 5000 }), { minLength: n, maxLength: n }), fc.integer())
    .map(([sizes, signs]) => sizes.map((size, i) => (((signs >> i) & 1) === 1 ? size : -size) / 8192));

describe('the signed rank and the Walsh averages', () => {
  test('have the distribution that signing all ranks gives, for n up to 10', () => {
    for (let n = 1; n <= 10; n++) {
      for (let w = 0; w <= (n * (n + 1)) / 2; w++)
        assert.equal(signedRankCdf(w, n), signedRankByHand(w, n), `n ${n}, w ${w}`);
    }
  });

  test('obey the recursion of the distribution at every n from 3 to 24', () => {
    for (const n of sizes) {
      for (let w = 0; w <= (n * (n + 1)) / 2; w++) {
        const expected = (signedRankCdf(w, n - 1) + (w >= n ? signedRankCdf(w - n, n - 1) : 0)) / 2;
        assert.equal(signedRankCdf(w, n), expected, `n ${n}, w ${w}`);
      }
      assert.equal(signedRankCdf((n * (n + 1)) / 2, n), 1);
    }
  });

  test('have an interval at every n just where its level can be attained, and never a bolder one', () => {
    for (const n of sizes) {
      const values = Array.from({ length: n }, (_, i) => ((i * 7919) % 101) / 100 - 0.3);
      for (const level of levels) {
        const k = walshRank(n, level);
        const bounds = walshInterval(values, level);
        assert.equal(bounds === null, 2 ** -n > level, `n ${n}, level ${level}`);
        assert.equal(k === 0, bounds === null);
        if (bounds === null) continue;
        assert.ok(walshTail(k, n) <= level && walshTail(k + 1, n) > level);
        const averages = walshAverages(values);
        assert.deepEqual(bounds, { lower: averages[k - 1], upper: averages[averages.length - k] });
      }
    }
  });

  test('give no p below the floor of 2^-n, and reach it when all rounds agree', () => {
    for (const n of sizes) {
      const agreeing = Array.from({ length: n }, (_, i) => (i + 1) / 64);
      assert.equal(signedRankP(agreeing), 2 ** -n);
      fc.assert(
        fc.property(signed(n), (values) => {
          const p = signedRankP(values);
          assert.ok(p >= 2 ** -n && p <= 1);
        }),
        { numRuns: 20 },
      );
    }
  });

  test('bounds leave out 0 just when the test rejects at their level', () => {
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 14 }).chain(signed), (values) => {
        const bounds = walshInterval(values, 0.05);
        assert.equal(bounds !== null && bounds.lower > 0, signedRankP(values) <= 0.05);
      }),
    );
  });
});

describe('paired t on log ratios', () => {
  test('is the formula: mean, bounds, and p of "faster"', () => {
    const values = [0.02, 0.01, 0.03, -0.01, 0.02, 0.01];
    const { centre, interval, p } = pairedT(values, 0.025);
    const error = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / 5 / 6);
    assert.ok(Math.abs(centre - 0.08 / 6) < 1e-15);
    assert.ok(Math.abs(interval.upper - centre - 2.570581835636314 * error) < 1e-12);
    assert.ok(Math.abs(centre - interval.lower - 2.570581835636314 * error) < 1e-12);
    assert.ok(Math.abs(p - tUpperTail(centre / error, 5)) < 1e-15);
  });

  test('a bound leaves out 0 just when p is below its level, at every n from 3 to 24', () => {
    for (const n of sizes) {
      fc.assert(
        fc.property(signed(n), (values) => {
          const { interval, p } = pairedT(values, 0.05);
          if (Math.abs(p - 0.05) > 1e-9) assert.equal(interval.lower > 0, p < 0.05);
        }),
        { numRuns: 20 },
      );
    }
  });

  test('has no bounds from one round', () => {
    assert.throws(() => pairedT([0.1], 0.05), RangeError);
  });

  test('without any spread the sign alone decides', () => {
    assert.equal(pairedT([0.25, 0.25, 0.25], 0.05).p, 0);
    assert.equal(pairedT([-0.25, -0.25, -0.25], 0.05).p, 1);
    assert.equal(pairedT([0, 0, 0], 0.05).p, 1);
  });
});

describe('the effect by either interval', () => {
  const decision = (interval: 't' | 'walsh'): Plan['decision'] => ({
    rule: 'zone-v1',
    looks: [6],
    levelPerLook: 0.0194,
    interval,
  });
  const close = (a: number | undefined, b: number | undefined): boolean =>
    Math.abs((a ?? Number.NaN) - (b ?? Number.NaN)) < 1e-12;
  const boundsOf = (effect: LogEffect): (number | undefined)[] => [
    effect.centre,
    effect.deciding?.lower,
    effect.deciding?.upper,
  ];
  const rates = (n: number) =>
    fc.array(fc.tuple(fc.integer({ min: 500, max: 2000 }), fc.integer({ min: 500, max: 2000 })), {
      minLength: n,
      maxLength: n,
    });
  const ratios = (pairs: readonly (readonly [number, number])[], c = 1): number[] =>
    pairs.map(([base, head]) => Math.log((c * head) / (c * base)));

  for (const interval of ['t', 'walsh'] as const) {
    test(`by ${interval}: a scale of all rates changes nothing, of head's moves it, order changes nothing`, () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 6, max: 24 }).chain(rates),
          fc.double({ min: 0.1, max: 9, noNaN: true }),
          (pairs, c) => {
            const own = boundsOf(logEffect(ratios(pairs), decision(interval)));
            const same = [
              boundsOf(logEffect(ratios(pairs, c), decision(interval))),
              boundsOf(logEffect(ratios(pairs.toReversed()), decision(interval))),
            ];
            for (const other of same)
              for (const [i, value] of own.entries()) assert.ok(close(value, other[i]));
            const faster = ratios(pairs).map((ratio) => ratio + Math.log(c));
            const moved = boundsOf(logEffect(faster, decision(interval)));
            for (const [i, value] of own.entries()) assert.ok(close((value ?? 0) + Math.log(c), moved[i]));
          },
        ),
      );
    });

    test(`by ${interval}: swapping the arms negates the effect and mirrors its bounds`, () => {
      fc.assert(
        fc.property(fc.integer({ min: 6, max: 24 }).chain(rates), (pairs) => {
          const own = logEffect(ratios(pairs), decision(interval));
          const swapped = logEffect(
            ratios(pairs.map(([base, head]) => [head, base] as const)),
            decision(interval),
          );
          assert.ok(close(swapped.centre, -own.centre));
          assert.ok(close(swapped.deciding?.lower, -(own.deciding?.upper ?? 0)));
          assert.ok(close(swapped.deciding?.upper, -(own.deciding?.lower ?? 0)));
        }),
      );
    });

    test(`by ${interval}: a round that got faster never lowers the centre`, () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 6, max: 24 }).chain(rates),
          fc.nat(),
          fc.double({ min: 0, max: 1, noNaN: true }),
          (pairs, at, by) => {
            const values = ratios(pairs);
            const raised = values.map((value, i) => (i === at % values.length ? value + by : value));
            const centre = (list: readonly number[]): number =>
              interval === 't' ? pairedT(list, 0.0194).centre : hodgesLehmann(list);
            assert.ok(centre(raised) >= centre(values) - 1e-15);
          },
        ),
      );
    });
  }
});

test('t quantiles agree with those of four degrees of freedom and fewer in closed form, to 1e-10', () => {
  for (const p of [0.6, 0.75, 0.9, 0.975, 0.9806, 0.99, 0.999]) {
    const a = 4 * p * (1 - p);
    const [one, two] = [Math.tan(Math.PI * (p - 0.5)), (2 * p - 1) * Math.sqrt(2 / a)];
    const q = Math.cos(Math.acos(Math.sqrt(a)) / 3) / Math.sqrt(a);
    const four = Math.sign(p - 0.5) * 2 * Math.sqrt(q - 1);
    for (const [freedom, expected] of [
      [1, one],
      [2, two],
      [4, four],
    ] as const) {
      const got = tQuantile(p, freedom);
      assert.ok(
        Math.abs(got - expected) < 1e-10 * Math.max(1, expected),
        `${p} ${freedom}: ${got} ${expected}`,
      );
    }
  }
});
