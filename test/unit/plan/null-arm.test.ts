import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type MatrixInput, matrixSchema } from '../../../src/matrix/schema.js';
import { buildPlan } from '../../../src/plan/build.js';
import { estimate } from '../../../src/plan/estimate.js';
import { capOf, looksOf } from '../../../src/plan/rounds.js';
import type { Plan } from '../../../src/plan/schema.js';

const seeds = fc.integer({ min: 0, max: 1e9 }).map((n) => n.toString(16).padStart(64, '0'));

function planOf(changes: Partial<MatrixInput> = {}, seed = 'a'.repeat(64), rounds?: number): Plan {
  const matrix = matrixSchema.parse({
    schemaVersion: 1,
    name: 'test',
    title: 'Test',
    model: { preset: 'unit' },
    cells: [{ promptTokens: 64, chunk: 32 }],
    arms: { base: {}, head: {} },
    ...changes,
  });
  return buildPlan(matrix, { session: 'test-session', seed, ...(rounds !== undefined && { rounds }) });
}

const withNull = (plan: Plan): number => plan.rounds.filter(({ order }) => order.includes('null')).length;

describe('the null arm of a plan', () => {
  test('is the reference by another name, last, and in the first two rounds', () => {
    const plan = planOf({ arms: { base: { switches: { A: '1' } }, head: {} } });
    const { name: _, ...reference } = plan.arms[0] ?? {};
    assert.deepEqual(plan.arms.at(-1), { ...reference, name: 'null', control: 'null' });
    assert.deepEqual(plan.rounds.map(({ order }) => order.includes('null')).slice(0, 3), [true, true, false]);
  });

  test('comes after all others, so that base and head keep the places that balance', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const rounds = planOf({}, seed)
          .rounds.slice(0, 2)
          .map(({ order }) => order.join(' '));
        assert.deepEqual(rounds.toSorted(), ['base head null', 'head base null']);
      }),
    );
  });

  test('leaves the order of the other arms as it is without it', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const other = planOf({ protocol: { nullRounds: 0 } }, seed);
        const orders = planOf({}, seed).rounds.map(({ order }) => order.filter((arm) => arm !== 'null'));
        assert.deepEqual(
          orders,
          other.rounds.map(({ order }) => order),
        );
        assert.deepEqual(
          other.arms.map(({ name }) => name),
          ['base', 'head'],
        );
      }),
    );
  });

  test('has at most the rounds of the plan, and an even number of them where there are more', () => {
    assert.equal(withNull(planOf({}, undefined, 1)), 1);
    assert.equal(withNull(planOf({ protocol: { nullRounds: 3, looks: [3] } }, undefined, 6)), 4);
    assert.equal(planOf({}, undefined, 1).protocol.nullRounds, 1);
    assert.equal(withNull(planOf({ protocol: { nullRounds: 96 } })), 24);
  });

  test('is counted where launches and their time are', () => {
    const [cost, without] = [planOf(), planOf({ protocol: { nullRounds: 0 } })].map(estimate);
    assert.equal(cost?.launches, 50);
    assert.equal(without?.launches, 48);
    assert.equal(cost?.nullArm.launches, 2);
    assert.ok(
      Math.abs((cost?.seconds.cap ?? 0) - (without?.seconds.cap ?? 0) - (cost?.nullArm.seconds ?? 0)) < 1e-6,
    );
    assert.ok((cost?.seconds.firstLook ?? 0) > (without?.seconds.firstLook ?? 0));
  });
});

describe('the cap of a cell', () => {
  const cells = [
    { promptTokens: 64, chunk: 32, cap: 6 },
    { promptTokens: 96, chunk: 32 },
  ];

  test('ends its looks', () => {
    const plan = planOf({ cells });
    assert.deepEqual(
      plan.cells.map((cell) => looksOf(plan, cell)),
      [[6], [6, 12, 18, 24]],
    );
    assert.deepEqual(
      plan.cells.map((cell) => capOf(plan, cell)),
      [6, 24],
    );
  });

  test('gives way to a number of rounds', () => {
    const plan = planOf({ cells }, undefined, 12);
    assert.deepEqual(
      plan.cells.map((cell) => capOf(plan, cell)),
      [12, 12],
    );
  });
});
