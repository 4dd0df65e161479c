import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { type MatrixInput, matrixSchema } from '../../../src/matrix/schema.js';
import { buildPlan, levelPerLook, planDigest } from '../../../src/plan/build.js';
import { estimate } from '../../../src/plan/estimate.js';
import { planSchema } from '../../../src/plan/schema.js';
import { makePlan } from '../../fixtures/journal.js';

const matrix = matrixSchema.parse({
  schemaVersion: 1,
  name: 'test',
  title: 'Test',
  model: { preset: 'unit' },
  cells: [
    { promptTokens: 64, chunk: 32 },
    { promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 8 },
  ],
  arms: { base: {}, head: {} },
  budgets: { prefill: 2, decode: 5 },
});
const options = { session: 'test-session', seed: 'a'.repeat(64) };

test('the same arguments make the same plan, to the digest; another seed another', () => {
  const digest = planDigest(buildPlan(matrix, options));
  assert.equal(planDigest(buildPlan(matrix, options)), digest);
  assert.equal(planDigest(planSchema.parse(JSON.parse(JSON.stringify(buildPlan(matrix, options))))), digest);
  assert.notEqual(planDigest(buildPlan(matrix, { ...options, seed: 'b'.repeat(64) })), digest);
});

test('cells get their names and the margin of their phase', () => {
  const cells = buildPlan(matrix, options).cells.map(({ id, marginPercent }) => ({ id, marginPercent }));
  assert.deepEqual(cells, [
    { id: '64/32', marginPercent: 2 },
    { id: '64+8', marginPercent: 5 },
  ]);
});

test('rounds last to the last look; a number of rounds replaces the looks', () => {
  assert.equal(buildPlan(matrix, options).rounds.length, 24);
  const one = buildPlan(matrix, { ...options, rounds: 1 });
  assert.equal(one.rounds.length, 1);
  assert.deepEqual(one.decision.looks, [1]);
  assert.deepEqual(one.protocol.looks, [1]);
});

test('a number of rounds that cannot be balanced is refused', () => {
  const odd = () => buildPlan(matrix, { ...options, rounds: 7 });
  assert.throws(
    odd,
    (error) => error instanceof QualifyError && error.exitCode === 64 && /use 8/.test(error.message),
  );
  assert.equal(buildPlan(matrix, { ...options, rounds: 3 }).rounds.length, 3);
});

test('up to four looks have .0194 each, more share .05', () => {
  assert.deepEqual([1, 4, 5, 10].map(levelPerLook), [0.0194, 0.0194, 0.01, 0.005]);
});

test('the estimate of the model follows its experts, to 1 % of files that were made', () => {
  const made = [
    ['unit', 'rocmfp2', 8_727_136],
    ['unit', 'q4_0', 11_348_576],
    ['unit', 'mxfp4', 10_955_360],
    ['unit', 'q2_k', 8_399_456],
    ['mini', 'rocmfp2', 261_421_312],
    ['mini', 'q4_0', 387_250_432],
  ] as const;
  for (const [preset, experts, size] of made) {
    const { model } = estimate(makePlan({ model: { preset, experts } })).diskBytes;
    assert.ok(Math.abs(model / size - 1) < 0.01, `${preset} ${experts}: ${model} for ${size}`);
  }
  const path = { path: '/m.gguf', vocabulary: 512 };
  assert.equal(estimate(makePlan({ model: path })).diskBytes.model, 0);
});

test('the estimate counts launches and requests', () => {
  // 6 rounds of 2 arms; a launch has the control twice, 1 warm-up, 3 samples, 1 parity request.
  const cost = estimate(makePlan());
  assert.equal(cost.launches, 12);
  assert.equal(cost.requests, 12 * 7);
  assert.equal(cost.promptTokens, 12 * 6 * 64);
  assert.equal(cost.seconds.firstLook, cost.seconds.cap);
  assert.ok(cost.diskBytes.model > 0 && cost.diskBytes.runFolder > 0);
});

test('the estimate asks for no cell beyond its cap', () => {
  const long = { promptTokens: 512, chunk: 32 };
  const capped = (cells: MatrixInput['cells']) => estimate(makePlan({ cells, protocol: { looks: [6, 12] } }));
  const [with6, alone] = [
    capped([
      { promptTokens: 64, chunk: 32 },
      { ...long, cap: 6 },
    ]),
    capped([{ promptTokens: 64, chunk: 32 }]),
  ];
  // 12 rounds of 2 arms; in the first 6 the long cell's warm-up, 3 samples and parity request besides.
  assert.deepEqual([with6.launches, alone.launches], [24, 24]);
  assert.equal(with6.requests - alone.requests, 12 * 5);
  assert.equal(with6.promptTokens - alone.promptTokens, 12 * 5 * 512);
  assert.ok(with6.seconds.cap < 2 * with6.seconds.firstLook);
  const both = capped([{ ...long, cap: 6 }]);
  assert.deepEqual([both.launches, both.seconds.cap], [12, both.seconds.firstLook]);
});
