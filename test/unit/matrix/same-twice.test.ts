import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadMatrix } from '../../../src/matrix/load.js';
import { breachesOf } from '../../../src/matrix/rules.js';
import { plantedTwice, sameTwice } from '../../../src/matrix/same-twice.js';
import { matrixSchema } from '../../../src/matrix/schema.js';
import { buildPlan } from '../../../src/plan/build.js';

const { matrix } = loadMatrix('prefill-short');
const same = sameTwice(matrix, { rounds: 12, clock: 'cpu' });

test('equal arms are the first arm of the matrix twice, with no null arm beside them', () => {
  assert.deepEqual(Object.keys(same.arms), ['a', 'b']);
  assert.deepEqual(same.arms.a, matrix.arms.base);
  assert.deepEqual(same.arms.b, matrix.arms.base);
  assert.deepEqual(same.protocol, { ...matrix.protocol, looks: [12], clock: 'cpu', nullRounds: 0 });
  assert.equal(sameTwice(matrix, { rounds: 6 }).protocol.clock, matrix.protocol.clock);
  assert.match(same.title, /^A\/A, the same twice: /);
});

test('a planted slowdown is in the second of them, may be looked at four times, and has the margin asked for', () => {
  const planted = plantedTwice(same, { percent: 3, marginPercent: 1.5 });
  assert.equal(planted.arms.a?.plantedSlowdownPercent, undefined);
  assert.equal(planted.arms.b?.plantedSlowdownPercent, 3);
  assert.deepEqual(planted.protocol.looks, [6, 12, 18, 24]);
  assert.deepEqual(planted.budgets, { prefill: 1.5, decode: 1.5 });
  assert.match(planted.title, /^PLANTED slowdown of 3 %: A\/A/);
});

test('both are matrices by all rules, and can be planned', () => {
  for (const made of [same, plantedTwice(same, { percent: 3, marginPercent: 2 })]) {
    assert.deepEqual(breachesOf(matrixSchema.parse(made)), []);
    assert.equal(
      buildPlan(made, { session: 'test-session', seed: 'a'.repeat(64) }).rounds[0]?.order.length,
      2,
    );
  }
});
