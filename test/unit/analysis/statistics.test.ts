import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { logEffect } from '../../../src/analysis/effect.js';
import { mad, median, robustSigma, sampleDeviation } from '../../../src/analysis/statistics.js';
import { Stream } from '../../../src/plan/stream.js';
import { shuffled } from '../../support/shuffled.js';

const values = fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 30 });

test('median and MAD are those of the field: unscaled, the mean of the middle two for even counts', () => {
  assert.equal(median([5, 1, 3]), 3);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(mad([94.4, 94.59, 94.74, 94.59, 95.1]), 94.74 - 94.59);
  assert.equal(mad([7]), 0);
});

test('the deviation divides by n - 1, and is 0 for one value', () => {
  assert.equal(sampleDeviation([1, 3]), Math.SQRT2);
  assert.equal(sampleDeviation([5]), 0);
});

test('order does not matter, and arguments are left as they are', () => {
  fc.assert(
    fc.property(shuffled(values), ([list, turned]) => {
      const before = [...list];
      assert.equal(median(turned), median(list));
      assert.equal(mad(turned), mad(list));
      if (list.length > 1) assert.equal(robustSigma(turned), robustSigma(list));
      assert.deepEqual(list, before);
    }),
  );
});

test('a scale multiplies both', () => {
  fc.assert(
    fc.property(values, (list) => {
      const doubled = list.map((value) => value * 4);
      assert.equal(median(doubled), 4 * median(list));
      assert.equal(mad(doubled), 4 * mad(list));
      if (list.length > 1) assert.equal(robustSigma(doubled), 4 * robustSigma(list));
    }),
  );
});

const vectors: unknown = JSON.parse(
  readFileSync(new URL('../../../../test/fixtures/statistics.json', import.meta.url), 'utf8'),
);
const factors = z
  .object({ mad: z.object({ 'extraFactorOn1.4826MadForNormalSigma': z.record(z.string(), z.number()) }) })
  .parse(vectors).mad['extraFactorOn1.4826MadForNormalSigma'];

/** Ranks 1 to n: their MAD is known. */
const ranks = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1);

test('the published changes of the source pull request follow from its medians', () => {
  const cell = z.object({ base: z.number(), head: z.number(), deltaPercent: z.number() });
  const { seed640 } = z.object({ seed640: z.record(z.string(), cell) }).parse(vectors);
  assert.deepEqual(Object.keys(seed640), ['401', '2048']);
  for (const { base, head, deltaPercent } of Object.values(seed640)) {
    const effect = logEffect([Math.log(head / base)], {
      rule: 'zone-v1',
      looks: [1],
      levelPerLook: 0.0194,
      interval: 't',
    });
    assert.ok(Math.abs(100 * Math.expm1(effect.centre) - deltaPercent) < 0.05);
    assert.equal(effect.deciding, null);
  }
});

test('the robust sigma has the small-sample factors of the computed table, and a formula beyond it', () => {
  assert.equal(Object.keys(factors).length, 9);
  for (const [n, factor] of Object.entries(factors)) {
    const own = robustSigma(ranks(Number(n))) / (1.4826 * mad(ranks(Number(n))));
    assert.ok(Math.abs(own - factor) < (Number(n) <= 10 ? 1e-12 : 0.003), `n ${n}: ${own}`);
  }
  assert.equal((robustSigma([1, 2, 3, 4, 5]) / mad([1, 2, 3, 4, 5])).toFixed(2), '1.80');
});

test('the robust sigma is that of normal noise in the mean, at every n from 2 to 24', () => {
  const stream = new Stream('0'.repeat(64), 'robust sigma');
  const normal = (): number => {
    const [u, v] = [(stream.word() + 1) / 2 ** 32, stream.word() / 2 ** 32];
    return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
  };
  const trials = 2500;
  for (let n = 2; n <= 24; n++) {
    let [sum, squares] = [0, 0];
    for (let trial = 0; trial < trials; trial++) {
      const sigma = robustSigma(Array.from({ length: n }, normal));
      sum += sigma;
      squares += sigma ** 2;
    }
    const average = sum / trials;
    const error = Math.sqrt((squares / trials - average ** 2) / trials);
    // Without the factor it would be 0.67 at n = 3 and 0.97 at n = 24; the errors are .016 and .005.
    assert.ok(Math.abs(average - 1) < 4 * error + 0.004, `n ${n}: ${average} +- ${error}`);
  }
});

test('one wild value of five leaves the robust sigma nearly alone', () => {
  const [calm, wild] = [robustSigma([1, 2, 3, 4, 5]), robustSigma([1, 2, 3, 4, 500])];
  assert.ok(calm > 0 && wild <= 2 * calm);
});
