import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mad, median, sampleDeviation } from '../../../src/analysis/statistics.js';

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
    fc.property(values, (list) => {
      const before = [...list];
      assert.equal(median(list.toReversed()), median(list));
      assert.equal(mad(list.toReversed()), mad(list));
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
    }),
  );
});
