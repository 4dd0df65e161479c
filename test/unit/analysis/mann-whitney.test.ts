/** Exact two-sample procedures against brute force over all deals (small), and against identities of recursion (up to 24). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { mannWhitney, mannWhitneyCdf, shift } from '../../../src/analysis/mann-whitney.js';
import { shuffled } from '../../support/shuffled.js';

const byRank = z.record(z.string(), z.number());
const vectors = z
  .object({ mannWhitneyTwoSidedFloor: byRank, hodgesLehmann5v5TwoSidedLevels: byRank })
  .parse(
    JSON.parse(readFileSync(new URL('../../../../test/fixtures/statistics.json', import.meta.url), 'utf8')),
  );

const sizes = Array.from({ length: 22 }, (_, index) => index + 3);
const ascending = (n: number, from = 0): number[] => Array.from({ length: n }, (_, i) => from + i);
const binomial = (n: number, k: number): number =>
  Array.from({ length: k }, (_, i) => i).reduce((product, i) => (product * (n - i)) / (i + 1), 1);
const near = (a: number, b: number, relative = 1e-12): boolean => Math.abs(a - b) <= relative * Math.abs(b);

/** Every choice of m places of n, as bit masks. */
function choices(n: number, m: number): number[] {
  const bits = (mask: number): number => mask.toString(2).replaceAll('0', '').length;
  return Array.from({ length: 2 ** n }, (_, mask) => mask).filter((mask) => bits(mask) === m);
}

/** Mann-Whitney by counting pairs in every deal of the pooled values. */
function bruteForce(
  base: readonly number[],
  head: readonly number[],
): { u: number; larger: number; smaller: number } {
  const count = (a: readonly number[], b: readonly number[]): number =>
    b
      .flatMap((y) => a.map((x) => (y > x ? 1 : y === x ? 0.5 : 0)))
      .reduce((sum: number, one) => sum + one, 0);
  const pooled = [...base, ...head];
  const u = count(base, head);
  const deals = choices(pooled.length, head.length).map((mask) => {
    const taken = (index: number): boolean => ((mask >> index) & 1) === 1;
    return count(
      pooled.filter((_, i) => !taken(i)),
      pooled.filter((_, i) => taken(i)),
    );
  });
  const share = (matches: (value: number) => boolean): number => deals.filter(matches).length / deals.length;
  return { u, larger: share((value) => value >= u), smaller: share((value) => value <= u) };
}

const sample = (max: number, length: { minLength: number; maxLength: number }) =>
  fc.array(fc.integer({ min: 0, max }), length);

describe('the Mann-Whitney test', () => {
  test('is what counting all deals gives, with and without ties', () => {
    const few = { minLength: 1, maxLength: 5 };
    for (const max of [3, 1000]) {
      fc.assert(
        fc.property(sample(max, few), sample(max, few), (base, head) => {
          const expected = bruteForce(base, head);
          const got = mannWhitney(base, head);
          assert.equal(got.u, expected.u);
          assert.ok(near(got.larger, expected.larger), `${got.larger} ${expected.larger}`);
          const twoSided = Math.min(1, 2 * Math.min(expected.larger, expected.smaller));
          assert.ok(near(got.twoSided, twoSided), `${got.twoSided} ${twoSided}`);
        }),
        { numRuns: 150 },
      );
    }
  });

  test('knows its floor at every n from 3 to 24, and never goes below it', () => {
    for (const n of sizes) {
      const floor = 2 / binomial(2 * n, n);
      const published = vectors.mannWhitneyTwoSidedFloor[String(n)];
      if (published !== undefined) assert.ok(near(floor, published));
      const apart = mannWhitney(ascending(n), ascending(n, n));
      assert.ok(near(apart.twoSided, floor), `n ${n}: ${apart.twoSided} is not ${floor}`);
      assert.ok(near(apart.larger, floor / 2));
      assert.ok(near(mannWhitney(ascending(n, n), ascending(n)).twoSided, floor));
      assert.equal(mannWhitney(ascending(n), ascending(n)).twoSided, 1);
    }
    assert.equal(Object.keys(vectors.mannWhitneyTwoSidedFloor).length, 8);
  });

  test('the 5 % of five against five is really 3.2 %', () => {
    const attained = mannWhitneyCdf(5, 5).map((tail) => 2 * tail);
    assert.deepEqual(
      attained.slice(0, 4).map((p) => p.toFixed(4)),
      ['0.0079', '0.0159', '0.0317', '0.0556'],
    );
  });

  test('its distribution obeys the recursion of Mann and Whitney at every n from 3 to 24', () => {
    const mass = (n: number, m: number): number[] => {
      const cdf = mannWhitneyCdf(n, m);
      return cdf.map((value, u) => value - (cdf[u - 1] ?? 0));
    };
    for (const n of sizes) {
      // P(n, m, u) = n / (n + m) P(n - 1, m, u - m) + m / (n + m) P(n, m - 1, u), here at m = n.
      const [whole, lessHead, lessBase] = [mass(n, n), mass(n - 1, n), mass(n, n - 1)];
      whole.forEach((value, u) => {
        const expected = ((lessHead[u - n] ?? 0) + (lessBase[u] ?? 0)) / 2;
        assert.ok(Math.abs(value - expected) < 1e-14, `n ${n}, u ${u}`);
      });
      assert.equal(mannWhitneyCdf(n, n).at(-1), 1);
    }
  });

  test('cares for ranks only: neither order of samples, scale, shift nor a monotone map change it', () => {
    const some = { minLength: 3, maxLength: 10 };
    fc.assert(
      fc.property(
        shuffled(sample(40, some)),
        shuffled(sample(40, some)),
        ([base, ofBase], [head, ofHead]) => {
          const own = mannWhitney(base, head);
          assert.deepEqual(mannWhitney(ofBase, ofHead), own);
          const mapped = (values: number[]): number[] => values.map((value) => 7 * value ** 3 + 5);
          assert.deepEqual(mannWhitney(mapped(base), mapped(head)), own);
          assert.ok(near(mannWhitney(head, base).twoSided, own.twoSided));
          assert.equal(mannWhitney(head, base).u, base.length * head.length - own.u);
        },
      ),
    );
  });

  test('is monotone: larger values never make "larger" less likely', () => {
    const some = { minLength: 3, maxLength: 8 };
    fc.assert(
      fc.property(sample(30, some), sample(30, some), fc.nat(), fc.nat(20), (base, head, which, by) => {
        const raised = head.map((value, i) => (i === which % head.length ? value + by : value));
        assert.ok(mannWhitney(base, raised).u >= mannWhitney(base, head).u);
      }),
    );
  });

  test('refuses an empty sample', () => {
    assert.throws(() => mannWhitney([], [1]), RangeError);
  });
});

describe('the Hodges-Lehmann shift', () => {
  test('has the exact levels of five against five', () => {
    const cdf = mannWhitneyCdf(5, 5);
    for (const [k, level] of Object.entries(vectors.hodgesLehmann5v5TwoSidedLevels)) {
      assert.ok(near(1 - 2 * (cdf[Number(k) - 1] ?? 1), level, 1e-14), k);
    }
    // There is no 95 %: the third differences from the ends have 96.8 %.
    const [base, head] = [ascending(5), ascending(5, 100)];
    const differences = head.flatMap((b) => base.map((a) => b - a)).toSorted((a, b) => a - b);
    const { bounds } = shift(base, head, 0.025);
    assert.deepEqual([bounds?.lower, bounds?.upper], [differences[2], differences[22]]);
    assert.ok(near(1 - 2 * (bounds?.level ?? 1), vectors.hodgesLehmann5v5TwoSidedLevels['3'] ?? 0));
  });

  test('has bounds at every n from 3 to 24 just where the level can be attained, and says which it attained', () => {
    for (const n of sizes) {
      const floor = 1 / binomial(2 * n, n);
      const [base, head] = [ascending(n).map((i) => i * 1.37), ascending(n, 5).map((i) => i * 1.11)];
      assert.equal(shift(base, head, floor * 0.999).bounds, null, `n ${n}`);
      const widest = shift(base, head, floor * 1.001).bounds;
      const differences = head.flatMap((b) => base.map((a) => b - a)).toSorted((a, b) => a - b);
      assert.deepEqual([widest?.lower, widest?.upper], [differences[0], differences.at(-1)]);
      for (const level of [0.0194, 0.025, 0.05]) {
        const { bounds } = shift(base, head, level);
        assert.equal(bounds === null, floor > level, `n ${n}, level ${level}`);
        if (bounds === null) continue;
        assert.ok(bounds.level <= level && bounds.level >= floor * (1 - 1e-12));
        // The next bounds further in would be too bold.
        const k = differences.indexOf(bounds.lower) + 1;
        assert.ok((mannWhitneyCdf(n, n)[k] ?? 1) > level);
      }
    }
  });

  test('bounds leave out 0 just when the test rejects', () => {
    const distinct = fc.uniqueArray(fc.integer({ min: 0, max: 10_000 }), { minLength: 10, maxLength: 20 });
    fc.assert(
      fc.property(distinct, (values) => {
        const [base, head] = [values.slice(0, 5), values.slice(5)];
        const { bounds } = shift(base, head, 0.025);
        const excluded = bounds !== null && (bounds.lower > 0 || bounds.upper < 0);
        assert.equal(excluded, mannWhitney(base, head).twoSided <= 0.05);
      }),
    );
  });

  test('order changes nothing, swapping mirrors it, a shift moves and a scale stretches it', () => {
    const lists = sample(1000, { minLength: 3, maxLength: 12 });
    const factors = fc.integer({ min: 1, max: 9 });
    fc.assert(
      fc.property(shuffled(lists), shuffled(lists), factors, ([base, ofBase], [head, ofHead], c) => {
        const own = shift(base, head, 0.05);
        assert.deepEqual(shift(ofBase, ofHead, 0.05), own);
        const swapped = shift(head, base, 0.05);
        assert.ok(swapped.centre === -own.centre);
        assert.equal(swapped.bounds === null, own.bounds === null);
        if (own.bounds === null || swapped.bounds === null) return;
        assert.ok(swapped.bounds.lower === -own.bounds.upper && swapped.bounds.upper === -own.bounds.lower);
        const moved = shift(
          base,
          head.map((value) => value + c),
          0.05,
        );
        assert.equal(moved.centre, own.centre + c);
        assert.equal(moved.bounds?.lower, own.bounds.lower + c);
        const stretched = shift(
          base.map((value) => c * value),
          head.map((value) => c * value),
          0.05,
        );
        assert.equal(stretched.centre, c * own.centre);
        assert.equal(stretched.bounds?.upper, c * own.bounds.upper);
      }),
    );
  });
});
