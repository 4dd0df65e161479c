import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type MatrixInput, matrixSchema } from '../../../src/matrix/schema.js';
import { armNames, withRevisions } from '../../../src/matrix/with-revisions.js';

const matrixOf = (arms: MatrixInput['arms']) =>
  matrixSchema.parse({
    schemaVersion: 1,
    name: 'm',
    title: 'M',
    model: { preset: 'unit' },
    cells: [{ promptTokens: 64, chunk: 32 }],
    arms,
  });

const revisions = [
  { name: 'base', revision: 'main' },
  { name: 'head', revision: 'feature' },
];

describe('a matrix on revisions', () => {
  test('keeps what all arms share and names what it drops', () => {
    const arms = {
      one: { switches: { SHARED: '1', OTHER: '0' }, arguments: ['--isa', 'avx2'] },
      two: { switches: { SHARED: '1', OTHER: '1', ONLY: '1' }, arguments: ['--isa', 'avx2'] },
    };
    const { matrix, dropped } = withRevisions(matrixOf(arms), revisions);
    const kept = { engine: 'embedded', switches: { SHARED: '1' }, arguments: ['--isa', 'avx2'] };
    assert.deepEqual(matrix.arms, {
      base: { revision: 'main', ...kept },
      head: { revision: 'feature', ...kept },
    });
    assert.deepEqual(dropped, ['OTHER', 'ONLY']);
  });

  test('drops an engine that is no revision of ours, and says so', () => {
    const arms = { 'llama-cpp': { engine: 'node-llama-cpp' as const }, qualify: {} };
    const { matrix, dropped } = withRevisions(matrixOf(arms), revisions);
    assert.equal(matrix.arms.base?.engine, 'embedded');
    assert.deepEqual(dropped, ['engine']);
  });

  test('drops arguments that differ', () => {
    const { matrix, dropped } = withRevisions(
      matrixOf({ one: { arguments: ['--isa', 'avx2'] }, two: {} }),
      revisions,
    );
    assert.deepEqual(matrix.arms.head?.arguments, []);
    assert.deepEqual(dropped, ['arguments']);
  });
});

describe('names of arms', () => {
  test('are made of the revisions', () => {
    assert.deepEqual(armNames(['HEAD~1', 'origin/main', 'prebuilt:/a/b/engine/']), [
      'HEAD-1',
      'origin-main',
      'engine',
    ]);
  });

  test('differ where revisions look alike, and are never whole numbers', () => {
    assert.deepEqual(armNames(['a/b', 'a-b', 'main', 'main']), ['a-b', 'a-b-2', 'main', 'main-4']);
    assert.deepEqual(armNames(['1234567', '---']), ['rev-1234567', 'rev-']);
  });
});
