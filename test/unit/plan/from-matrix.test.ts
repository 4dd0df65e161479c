import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withLeverOff } from '../../../src/matrix/lever-off.js';
import { narrow } from '../../../src/matrix/narrow.js';
import { plantSlowdown } from '../../../src/matrix/planted.js';
import { type Matrix, matrixSchema } from '../../../src/matrix/schema.js';
import { withRevisions } from '../../../src/matrix/with-revisions.js';
import { buildPlan } from '../../../src/plan/build.js';
import { followsFromMatrix } from '../../../src/plan/from-matrix.js';
import type { Plan } from '../../../src/plan/schema.js';

const SWITCH = 'DFLASH_MOE_GROUPED_MMID_PREFILL';
const matrix = matrixSchema.parse({
  schemaVersion: 1,
  name: 'asked',
  title: 'A matrix of switches',
  model: { preset: 'unit' },
  cells: [
    { promptTokens: 32, chunk: 32 },
    { promptTokens: 64, chunk: 32, id: 'long' },
  ],
  arms: { base: { switches: { [SWITCH]: '0' } }, head: { switches: { [SWITCH]: '1' } } },
  protocol: { warmups: 1, samples: 2, looks: [6, 12] },
});
const plan = (of: Matrix, options: object = {}): Plan =>
  buildPlan(of, { session: 'session-1', seed: 'a'.repeat(64), ...options });
const compared = [
  { name: 'base', revision: 'b'.repeat(40) },
  { name: 'head', revision: 'main' },
];
const ontoRevisions = withRevisions(matrix, compared).matrix;

test('a plan follows from its matrix as it stands, and put onto revisions', () => {
  assert.ok(followsFromMatrix(plan(matrix), matrix));
  assert.ok(followsFromMatrix(plan(ontoRevisions), matrix));
  const levers = withRevisions(matrix, withLeverOff(compared, { DFLASH_NEW: '0' })).matrix;
  assert.ok(followsFromMatrix(plan(levers), matrix));
  for (const voidShare of [null, 0.05]) assert.ok(followsFromMatrix(plan(matrix, { voidShare }), matrix));
});

test('it does not when anything else was chosen', () => {
  const wider = { ...matrix, budgets: { ...matrix.budgets, prefill: 3 } };
  const chosen: [string, Plan][] = [
    ['rounds', plan(matrix, { rounds: 6 })],
    ['rounds of revisions', plan(ontoRevisions, { rounds: 6 })],
    ['cells', plan(narrow(matrix, ['long']).matrix, { leftOut: ['32/32'] })],
    ['a slowdown', plan(plantSlowdown(ontoRevisions, 3))],
    ['budgets', plan(wider)],
    ['more rounds that may be void', plan(matrix, { voidShare: 0.2 })],
    ['budgets under revisions', plan(withRevisions(wider, compared).matrix)],
    ['a cell', plan({ ...matrix, cells: matrix.cells.slice(1) })],
    [
      'a switch',
      plan({ ...matrix, arms: { ...matrix.arms, head: { ...matrix.arms.head, switches: {} } } } as Matrix),
    ],
    ['its digest', { ...plan(wider), matrix: plan(matrix).matrix }],
  ];
  for (const [what, other] of chosen) assert.equal(followsFromMatrix(other, matrix), false, what);
});
