import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import {
  hodgesLehmann,
  signedRankP,
  walshAverages,
  walshInterval,
  walshRank,
  walshTail,
} from '../../../src/analysis/walsh.js';
import { shuffled } from '../../support/shuffled.js';

const byRank = z.record(z.string(), z.number());
const vectors = z
  .object({
    pairedTwoSidedFloor: byRank,
    walshTwoSidedLevels: z.record(z.string(), byRank),
    walshOneSidedTailAtLook: byRank,
  })
  .parse(
    JSON.parse(readFileSync(new URL('../../../../test/fixtures/statistics.json', import.meta.url), 'utf8')),
  );

const differences = (length: number) =>
  fc.array(
    fc.integer({ min: 1, max: 2000 }).map((n) => (n - 1000.5) / 1000),
    { minLength: length, maxLength: 24 },
  );

test('two-sided levels of Walsh intervals are the exact ones', () => {
  const rows = Object.entries(vectors.walshTwoSidedLevels).flatMap(([n, levels]) =>
    Object.entries(levels).map(([k, level]) => ({ n: Number(n), k: Number(k), level })),
  );
  assert.equal(rows.length, 60);
  for (const { n, k, level } of rows) assert.equal(1 - 2 * walshTail(k, n), level, `n ${n}, k ${k}`);
});

test('one-sided tails at the looks are the exact ones, and the ranks are the largest at .0194', () => {
  for (const [name, tail] of Object.entries(vectors.walshOneSidedTailAtLook)) {
    const [n = 0, k = 0] = name.split(',k=').map(Number);
    assert.equal(walshTail(k, n), tail, name);
    assert.equal(walshRank(n, 0.0194), k, name);
  }
});

test('the best two-sided p of n pairs is the exact floor', () => {
  for (const [n, floor] of Object.entries(vectors.pairedTwoSidedFloor)) {
    assert.equal(2 * walshTail(1, Number(n)), floor);
    const allFaster = Array.from({ length: Number(n) }, (_, i) => 0.01 * (i + 1));
    assert.equal(2 * signedRankP(allFaster), floor);
  }
});

test('five pairs allow no bound at the level of a look', () => {
  assert.equal(walshRank(5, 0.0194), 0);
  assert.equal(walshInterval([1, 2, 3, 4, 5], 0.0194), null);
});

test('six pairs are bounded by their extremes', () => {
  assert.deepEqual(walshInterval([0.3, -0.1, 0.2, 0.5, 0.4, 0.1], 0.0194), { lower: -0.1, upper: 0.5 });
});

test('the order of rounds changes neither estimate nor bounds', () => {
  fc.assert(
    fc.property(shuffled(differences(6)), ([values, turned]) => {
      assert.equal(signedRankP(turned), signedRankP(values));
      assert.equal(hodgesLehmann(turned), hodgesLehmann(values));
      assert.deepEqual(walshInterval(turned, 0.0194), walshInterval(values, 0.0194));
    }),
  );
});

test('swapping the arms mirrors estimate and bounds', () => {
  fc.assert(
    fc.property(differences(6), (values) => {
      const mirrored = values.map((value) => -value);
      const [bounds, other] = [walshInterval(values, 0.0194), walshInterval(mirrored, 0.0194)];
      assert.ok(bounds && other);
      assert.ok(Math.abs(hodgesLehmann(mirrored) + hodgesLehmann(values)) < 1e-15);
      assert.equal(other.lower + bounds.upper, 0);
      assert.equal(other.upper + bounds.lower, 0);
    }),
  );
});

test('there are n (n + 1) / 2 averages, ascending, the values among them', () => {
  assert.deepEqual(walshAverages([3, 1]), [1, 2, 3]);
});

test('p of the signed rank is for "faster" only', () => {
  const slower = [-1, -2, -3, -4, -5, -6];
  assert.equal(signedRankP(slower), 1);
  assert.equal(signedRankP([0, 0, 0]), 1);
  assert.ok(signedRankP([-0.1, 1, 2, 3, 4, 5]) > signedRankP([0.1, 1, 2, 3, 4, 5]));
});
