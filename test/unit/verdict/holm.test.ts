import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { benjaminiHochberg, holm, holmSteps } from '../../../src/verdict/holm.js';

/** Doubles at random are nearly all tiny; these are spread evenly. */
const thousandths = (most: number) => fc.integer({ min: 0, max: most }).map((count) => count / 1000);

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
  const ps = fc.array(thousandths(100), { minLength: 1, maxLength: 12 });
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

test('adjusted p values are those of the textbook, monotone in p and at most 1', () => {
  const steps = holmSteps([0.01, 0.04, 0.03, 0.005], 0.05);
  assert.deepEqual(
    steps.map(({ adjustedP }) => Number(adjustedP.toFixed(12))),
    [0.03, 0.06, 0.06, 0.02],
  );
  assert.deepEqual(
    holmSteps([0.5, 0.9], 0.05).map(({ adjustedP }) => adjustedP),
    [1, 1],
  );
});

test('once a claim has fallen, later ones fall with it and face its level', () => {
  const steps = holmSteps([0.04, 0.03], 0.05);
  assert.deepEqual(
    steps.map(({ stands, level }) => [stands, level]),
    [
      [false, 0.025],
      [false, 0.025],
    ],
  );
});

test('a claim stands just when its adjusted p is at most the level, and when p is at most the level it faces', () => {
  fc.assert(
    fc.property(fc.array(thousandths(200), { maxLength: 12 }), (values) => {
      holmSteps(values, 0.05).forEach(({ stands, adjustedP, level }, i) => {
        const p = values[i] ?? 0;
        if (Math.abs(adjustedP - 0.05) > 1e-12) assert.equal(stands, adjustedP < 0.05);
        assert.equal(stands, p <= level);
      });
    }),
  );
});

test('Benjamini-Hochberg gives the textbook values, and is never stricter than Holm', () => {
  const textbook = benjaminiHochberg([0.01, 0.04, 0.03, 0.005]).map((p) => Number(p.toFixed(12)));
  assert.deepEqual(textbook, [0.02, 0.04, 0.04, 0.02]);
  fc.assert(
    fc.property(fc.array(thousandths(1000), { maxLength: 12 }), (values) => {
      const holmed = holmSteps(values, 0.05);
      benjaminiHochberg(values).forEach((p, i) => {
        assert.ok(p <= (holmed[i]?.adjustedP ?? 0) + 1e-12 && p >= (values[i] ?? 0) * (1 - 1e-12));
      });
    }),
  );
});
