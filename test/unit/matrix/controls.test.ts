/** What a matrix may say of its controls and caps. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { breachesOf } from '../../../src/matrix/rules.js';
import { type MatrixInput, matrixSchema } from '../../../src/matrix/schema.js';

const breaches = (changes: Partial<MatrixInput>): string[] => {
  const matrix = matrixSchema.parse({
    schemaVersion: 1,
    name: 'test',
    title: 'Test',
    model: { preset: 'unit' },
    cells: [{ promptTokens: 64, chunk: 32 }],
    arms: { base: {}, head: {} },
    ...changes,
  });
  return breachesOf(matrix).map(({ path, message }) => `${path.join('.')}: ${message}`);
};
const refused = (changes: Partial<MatrixInput>, why: RegExp): void => {
  const found = breaches(changes);
  assert.equal(found.length, 1, found.join('\n'));
  assert.match(found[0] ?? '', why);
};

describe('a matrix', () => {
  test('has no arm named null, however it is spelt, and none that says it is the control', () => {
    refused({ arms: { base: {}, head: {}, null: {} } }, /^arms\.null: the null arm is added by the plan/);
    refused({ arms: { base: {}, head: {}, Null: {} } }, /^arms\.Null: /);
    refused({ arms: { base: {}, head: {}, again: { control: 'null' } } }, /^arms\.again: /);
  });

  test('has null rounds in pairs, unless all its rounds are', () => {
    refused({ protocol: { nullRounds: 3 } }, /^protocol\.nullRounds: .*use 4 instead of 3/);
    refused({ protocol: { nullRounds: 1 } }, /use 2 instead of 1/);
    for (const nullRounds of [0, 2, 24]) assert.deepEqual(breaches({ protocol: { nullRounds } }), []);
    assert.deepEqual(breaches({ protocol: { nullRounds: 3, looks: [3] } }), []);
    assert.deepEqual(breaches({ protocol: { nullRounds: 96, looks: [6] } }), []);
  });

  test('caps cells at its looks only', () => {
    const capped = (cap: number) => ({ cells: [{ promptTokens: 64, chunk: 32, cap }] });
    refused(capped(8), /^cells\.0\.cap: a cell stops after a look: use one of 6, 12, 18, 24 instead of 8/);
    assert.deepEqual(breaches(capped(12)), []);
  });

  test('has lever-off arms of a head, with other switches', () => {
    const arms = (off: { revision: string; switches?: Record<string, string> }) => ({
      arms: {
        base: { revision: 'a' },
        head: { revision: 'b' },
        off: { ...off, control: 'lever-off' as const },
      },
    });
    assert.deepEqual(breaches(arms({ revision: 'b', switches: { DFLASH_NEW: '0' } })), []);
    refused(arms({ revision: 'b' }), /^arms\.off\.switches: has the switches of "head"/);
    refused(
      arms({ revision: 'c', switches: { DFLASH_NEW: '0' } }),
      /^arms\.off\.revision: no arm after the first/,
    );
  });

  test('compares two arms besides its controls, the first of them no control', () => {
    const off = { revision: 'b', switches: { DFLASH_NEW: '0' }, control: 'lever-off' as const };
    const two = breaches({ arms: { base: { revision: 'a' }, off } });
    assert.match(two[0] ?? '', /^arms: a comparison needs two arms or more/);
    refused({ arms: { off, base: {}, head: {} } }, /^arms\.off: the first arm .* cannot be a control/);
  });
});
