import assert from 'node:assert/strict';
import { test } from 'node:test';
import { condensed, distinct, finding } from '../../../src/analysis/finding.js';

const findings = [
  finding('a', 'one'),
  finding('b', 'other'),
  finding('a', 'two'),
  finding('a', 'one'),
  finding('a', 'three'),
];

test('equal findings are told once', () => {
  assert.deepEqual(
    distinct(findings).map(({ message }) => message),
    ['one', 'other', 'two', 'three'],
  );
});

test('findings of one code are one, with their number', () => {
  assert.deepEqual(condensed(findings), [finding('a', 'one (and 2 more like it)'), finding('b', 'other')]);
  assert.deepEqual(condensed([]), []);
});
