import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { holm } from '../../../src/verdict/holm.js';

test('the smallest p faces the whole correction, each next one less', () => {
  assert.deepEqual(holm([0.01, 0.04, 0.03], 0.05), [true, false, false]);
  assert.deepEqual(holm([0.01, 0.02, 0.05], 0.05), [true, true, true]);
  assert.deepEqual(holm([0.02, 0.02, 0.02], 0.05), [false, false, false]);
});

test('one claim needs no correction, none none', () => {
  assert.deepEqual(holm([0.05], 0.05), [true]);
  assert.deepEqual(holm([0.0501], 0.05), [false]);
  assert.deepEqual(holm([], 0.05), []);
});

test('the order of claims does not matter, and a smaller p never stands less', () => {
  const ps = fc.array(fc.double({ min: 0, max: 0.1, noNaN: true }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(ps, (values) => {
      const stands = holm(values, 0.05);
      assert.deepEqual(
        holm(values.toReversed(), 0.05).toReversed().filter(Boolean).length,
        stands.filter(Boolean).length,
      );
      const standing = values.filter((_, i) => stands[i]);
      const falling = values.filter((_, i) => !stands[i]);
      assert.ok(Math.max(-1, ...standing) <= Math.min(1, ...falling));
    }),
  );
});
