import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBase64 } from '../../../src/manifest/base64.js';

test('decodes standard padded base64', () => {
  assert.deepEqual(decodeBase64('aGVsbG8gd29ybGQ='), Buffer.from('hello world'));
  assert.deepEqual(decodeBase64(''), Buffer.alloc(0));
});

for (const [what, text] of [
  ['missing padding', 'aGVsbG8gd29ybGQ'],
  ['URL-safe letters', '-_-_'],
  ['whitespace', 'aGVs bG8gd29ybGQ='],
  ['a newline at the end', 'aGVsbG8gd29ybGQ=\n'],
  ['non-zero trailing bits', 'aGVsbG8gd29ybGR='],
  ['garbage inside', 'aGVs!G8gd29ybGQ='],
  ['data after padding', 'aGVsbG8=aGVsbG8='],
] as const) {
  test(`refuses ${what}`, () => {
    assert.equal(decodeBase64(text), null);
  });
}
