import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import { parseMatrix } from '../../../src/matrix/parse.js';

const simulated = {
  schemaVersion: 1,
  name: 'made-up',
  title: 'Simulated: made up',
  model: { simulated: true },
  cells: [{ promptTokens: 64, chunk: 32 }],
  arms: { base: { engine: 'simulated' }, head: { engine: 'simulated', effectPercent: -3 } },
  simulation: { cvPercent: 1 },
};
const real = { ...simulated, title: 'Real', model: { preset: 'unit' }, arms: { base: {}, head: {} } };

function problems(matrix: object): string {
  try {
    parseMatrix(JSON.stringify(matrix), 'test.yaml');
    return '';
  } catch (error) {
    assert.ok(error instanceof QualifyError);
    return error.message;
  }
}

test('a matrix is simulated as a whole', () => {
  assert.equal(problems(simulated), '');
  assert.equal(problems({ ...real, simulation: undefined }), '');
});

test('or not at all', () => {
  const { arms } = simulated;
  const cases: [object, RegExp][] = [
    [{ ...simulated, simulation: undefined }, /engine `simulated` needs the key `simulation`/],
    [{ ...simulated, arms: { ...arms, head: {} } }, /arms of engine `simulated` only/],
    [{ ...simulated, model: { preset: 'unit' } }, /nothing loads a model here/],
    [{ ...simulated, title: 'Fast' }, /begin it with "Simulated"/],
    [
      { ...simulated, arms: { ...arms, head: { engine: 'simulated', switches: { DFLASH_X: '1' } } } },
      /knows no switches/,
    ],
    [{ ...simulated, arms: { ...arms, head: { engine: 'simulated', arguments: ['--x'] } } }, /no arguments/],
    [{ ...simulated, arms: { ...arms, head: { engine: 'simulated', revision: 'HEAD' } } }, /one revision/],
    [{ ...real, simulation: {} }, /arms of engine `simulated` only/],
    [{ ...real, simulation: undefined, model: { simulated: true } }, /a simulated model is for/],
    [
      { ...real, simulation: undefined, arms: { base: {}, head: { effectPercent: 3 } } },
      /only a simulated arm has a true effect/,
    ],
    [{ ...simulated, simulation: { cvPercent: -1 } }, /simulation\.cvPercent/],
    [{ ...simulated, simulation: { slowHitPercent: 1 } }, /simulation\.slowHitPercent/],
    [{ ...simulated, simulation: { drift: 1 } }, /unknown key "drift"/],
  ];
  for (const [matrix, expected] of cases) assert.match(problems(matrix), expected);
});

test('the built-in one has eight cells and compares nothing with nothing', () => {
  const { matrix } = loadMatrix('simulated');
  assert.equal(matrix.cells.length, 8);
  assert.deepEqual(
    Object.values(matrix.arms).map(({ effectPercent }) => effectPercent ?? 0),
    [0, 0],
  );
});
