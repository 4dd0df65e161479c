import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { buildOrder } from '../../../src/plan/order.js';

const seeds = fc.integer({ min: 0, max: 1e9 }).map((n) => n.toString(16).padStart(64, '0'));
const armsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `arm${i}`);

test('two arms run as AB and BA in pairs of rounds', () => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const rounds = buildOrder(['a', 'b'], 6, seed).map(({ order }) => order.join(''));
      for (let i = 0; i < 6; i += 2) assert.deepEqual(rounds.slice(i, i + 2).toSorted(), ['ab', 'ba']);
    }),
  );
});

test('which comes first is up to the seed', () => {
  const firsts = Array.from(
    { length: 200 },
    (_, i) => buildOrder(['a', 'b'], 1, `${i}`.padStart(64, '0'))[0]?.order[0],
  );
  const share = firsts.filter((arm) => arm === 'a').length / 200;
  assert.ok(share > 0.35 && share < 0.65, `${share}`);
});

test('in a block every arm takes every place once', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 2, max: 6 }), (seed, count) => {
      const rounds = buildOrder(armsOf(count), 3 * count, seed);
      for (let start = 0; start < rounds.length; start += count) {
        for (let place = 0; place < count; place++) {
          const there = rounds.slice(start, start + count).map(({ order }) => order[place]);
          assert.equal(new Set(there).size, count);
        }
      }
    }),
  );
});

test('who follows whom is balanced: within a block for even numbers of arms, within two for odd', () => {
  fc.assert(
    fc.property(seeds, fc.integer({ min: 2, max: 6 }), (seed, count) => {
      const blocks = count % 2 === 0 ? 1 : 2;
      const rounds = buildOrder(armsOf(count), count * blocks, seed);
      const follows = rounds.flatMap(({ order }) => order.slice(1).map((arm, i) => `${order[i]}>${arm}`));
      assert.equal(new Set(follows).size, count * (count - 1));
      assert.equal(follows.length, blocks * count * (count - 1));
      for (const pair of follows) assert.equal(follows.filter((other) => other === pair).length, blocks);
    }),
  );
});

test('the order follows from the seed, and has the rounds that were asked for', () => {
  const seed = 'c'.repeat(64);
  assert.deepEqual(buildOrder(armsOf(3), 7, seed), buildOrder(armsOf(3), 7, seed));
  assert.deepEqual(
    buildOrder(armsOf(3), 7, seed).map(({ round }) => round),
    [0, 1, 2, 3, 4, 5, 6],
  );
});
