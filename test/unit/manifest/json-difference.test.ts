import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstJsonDifference } from '../../../src/manifest/json-difference.js';

for (const [found, expected, difference] of [
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, null],
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, 'a[1].b is 2, not 3'],
  [{ a: 1, b: 2 }, { a: 1 }, 'b is 2, not absent'],
  [{ a: 1 }, { a: 1, b: null }, 'b is absent, not null'],
  [[1], [1, 2], '[1] is absent, not 2'],
  [{ a: [] }, { a: {} }, 'a is [], not {}'],
  [1, '1', 'the value is 1, not "1"'],
  [{ a: 'x'.repeat(100) }, { a: 1 }, `a is "${'x'.repeat(76)}..., not 1`],
] as const) {
  test(`finds ${difference ?? 'no difference'}`, () => {
    assert.equal(firstJsonDifference(found, expected), difference);
  });
}
