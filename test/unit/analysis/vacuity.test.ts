import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Output, vacuityOf } from '../../../src/analysis/vacuity.js';

const output = (prompt: string, tokens: number[], long = true): Output => ({
  prompt,
  tokens,
  long,
  logitsSha256: `logits of ${prompt}`,
});
const counting = Array.from({ length: 16 }, (_, i) => i + 1);
const other = counting.map((token) => 40 - token);

test('outputs that depend on their prompts prove something', () => {
  assert.equal(vacuityOf([output('a', counting), output('b', other)], 'tokens', 16), null);
});

test('equal outputs of different prompts prove nothing by tokens, and something by logits', () => {
  const same = [output('a', counting), output('b', counting)];
  assert.match(vacuityOf(same, 'tokens', 16)?.message ?? '', /does not depend on the prompt/);
  assert.equal(vacuityOf(same, 'exact', 16), null);
  const constant = same.map((one) => ({ ...one, logitsSha256: 'constant' }));
  assert.match(vacuityOf(constant, 'exact', 16)?.message ?? '', /does not depend on the prompt/);
});

test('a single short output of many long ones is too short', () => {
  assert.match(
    vacuityOf([output('a', counting), output('b', [1, 2, 3, 4])], 'tokens', 16)?.message ?? '',
    /4 tokens/,
  );
});

test('fewer than four different tokens are too few', () => {
  const three = Array.from({ length: 16 }, (_, i) => i % 3);
  assert.match(vacuityOf([output('a', three)], 'tokens', 16)?.message ?? '', /3 different tokens/);
  assert.equal(
    vacuityOf(
      [
        output(
          'a',
          Array.from({ length: 16 }, (_, i) => i % 4),
        ),
      ],
      'tokens',
      16,
    ),
    null,
  );
});

test('a long circle repeats itself', () => {
  const circle = Array.from({ length: 100 }, (_, i) => i % 6);
  assert.match(vacuityOf([output('a', circle)], 'tokens', 16)?.message ?? '', /repeat themselves/);
  assert.equal(
    vacuityOf(
      [
        output(
          'a',
          Array.from({ length: 100 }, (_, i) => i % 60),
        ),
      ],
      'tokens',
      16,
    ),
    null,
  );
});
