import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { editDistance, suggest } from '../../src/suggest.js';

test('counts inserts, deletes, replacements and swapped neighbours', () => {
  assert.equal(editDistance('phase', 'fase'), 2);
  assert.equal(editDistance('smoke', 'smkoe'), 1);
  assert.equal(editDistance('', 'abc'), 3);
});

test('is a distance: zero for equal words only, the same both ways', () => {
  const word = fc.string({ maxLength: 8, unit: fc.constantFrom('a', 'b', 'c') });
  fc.assert(
    fc.property(word, word, (a, b) => {
      assert.equal(editDistance(a, b), editDistance(b, a));
      assert.equal(editDistance(a, b) === 0, a === b);
    }),
  );
});

test('suggests the nearest, or nothing', () => {
  assert.equal(suggest('sampels', ['samples', 'sample']), 'samples');
  assert.equal(suggest('SMOKE', ['smoke']), 'smoke');
  assert.equal(suggest('engine', ['samples', 'arms']), undefined);
});
