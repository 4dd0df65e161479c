import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { designRows } from '../../../src/matrix/folded-design.js';

const folded = (factors: number): string[] => designRows('folded-plackett-burman', factors, '-');
const counts = Array.from({ length: 16 }, (_, index) => index + 1);
const sign = (row: string, factor: number): number => (row[factor] === '+' ? 1 : -1);
/** Sum over the rows of the product of some factors: 0 when they are balanced against each other. */
const product = (rows: readonly string[], ...factors: number[]): number =>
  rows.reduce((sum, row) => sum + factors.reduce((value, factor) => value * sign(row, factor), 1), 0);

describe('a folded Plackett-Burman design', () => {
  test('has 16 arms for 5 to 8 switches, 24 up to 12, 32 up to 16', () => {
    assert.deepEqual(
      counts.map((factors) => folded(factors).length),
      [2, 4, 8, 8, 16, 16, 16, 16, 24, 24, 24, 24, 32, 32, 32, 32],
    );
  });

  test('begins with all low, ends with all high, and has no arm twice', () => {
    for (const factors of counts) {
      const rows = folded(factors);
      assert.equal(rows[0], '-'.repeat(factors));
      assert.equal(rows.at(-1), '+'.repeat(factors));
      // A complete factorial of three switches or fewer is one, too.
      assert.equal(new Set(rows).size, rows.length, `${factors}: ${rows.join(' ')}`);
      for (const row of rows) assert.equal(row.length, factors);
    }
  });

  test('has each switch high in half of the arms, and every two orthogonal', () => {
    for (const factors of counts) {
      const rows = folded(factors);
      for (let a = 0; a < factors; a++) {
        assert.equal(product(rows, a), 0, `${factors} switches, ${a}`);
        for (let b = 0; b < a; b++)
          assert.equal(product(rows, a, b), 0, `${factors} switches, ${b} and ${a}`);
      }
    }
  });

  test('has resolution IV: no effect of a pair reaches into an effect of a single switch', () => {
    for (const factors of counts) {
      const rows = folded(factors);
      for (let main = 0; main < factors; main++)
        for (let a = 0; a < factors; a++)
          for (let b = 0; b < a; b++)
            assert.equal(product(rows, main, a, b), 0, `${factors} switches: ${main} with ${b} x ${a}`);
    }
  });

  test('would not have it without its mirror image', () => {
    const half = folded(8).slice(8);
    const touched = counts
      .slice(0, 8)
      .some((_, main) => Math.abs(product(half, main, (main + 1) % 8, (main + 2) % 8)) > 0);
    assert.equal(touched, true);
  });

  test('is refused for 17 switches', () => {
    assert.throws(() => folded(17), RangeError);
  });
});

describe('one switch at a time', () => {
  test('has the reference, each switch alone, and all together', () => {
    assert.deepEqual(designRows('one-at-a-time', 3, '-'), ['---', '+--', '-+-', '--+', '+++']);
    assert.deepEqual(designRows('one-at-a-time', 3, '+'), ['+++', '-++', '+-+', '++-', '---']);
  });

  test('of a single switch is a comparison', () => {
    assert.deepEqual(designRows('one-at-a-time', 1, '-'), ['-', '+']);
  });
});
