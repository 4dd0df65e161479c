import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { benjaminiHochberg, holm, holmSteps } from '../../../src/verdict/holm.js';
import { shuffled } from '../../support/shuffled.js';

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

test('which claims stand does not depend on their order, and a smaller p never stands less', () => {
  const claims = fc
    .array(thousandths(100), { minLength: 1, maxLength: 12 })
    .map((list) => list.map((p, place) => ({ p, place })));
  const stepsOf = (list: readonly { p: number }[]) =>
    holmSteps(
      list.map(({ p }) => p),
      0.05,
    );
  fc.assert(
    fc.property(shuffled(claims), ([list, turned]) => {
      const steps = stepsOf(list);
      // Equal ones stand and fall together, but for the level that each faces.
      for (const [at, { stands, adjustedP }] of stepsOf(turned).entries()) {
        const own = steps[turned[at]?.place ?? -1];
        assert.deepEqual([stands, adjustedP], [own?.stands, own?.adjustedP]);
      }
      const standing = list.flatMap(({ p }, at) => (steps[at]?.stands ? [p] : []));
      const falling = list.flatMap(({ p }, at) => (steps[at]?.stands ? [] : [p]));
      assert.ok(Math.max(-1, ...standing) <= Math.min(1, ...falling));
    }),
  );
});

/** The smallest p of a Mann-Whitney test of n values against n, 2 / C(2n, n). */
function floorOf(n: number): number {
  let floor = 2;
  for (let k = 1; k <= n; k++) floor *= k / (n + k);
  return floor;
}

/** Whether a claim at `p` stands beside `others` that nothing speaks for. */
const standsBeside = (p: number, others: number, level: number): boolean | undefined =>
  holm([...Array.from({ length: others }, () => 1), p], level).at(-1);

test('the smallest p that n against n can have stands among just as many claims as go into the level', () => {
  for (let n = 3; n <= 11; n++) {
    const most = Math.floor(0.05 / floorOf(n));
    if (most > 0) assert.equal(standsBeside(floorOf(n), most - 1, 0.05), true, `n ${n}, ${most} claims`);
    assert.equal(standsBeside(floorOf(n), most, 0.05), false, `n ${n}, ${most + 1} claims`);
  }
  // From n = 12 on these would be 67,603 claims and more: a smaller level, into which the floor goes four times.
  for (let n = 3; n <= 24; n++) {
    const level = 4.5 * floorOf(n);
    assert.equal(standsBeside(floorOf(n), 3, level), true, `n ${n}`);
    assert.equal(standsBeside(floorOf(n), 4, level), false, `n ${n}`);
  }
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
