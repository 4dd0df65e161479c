import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { builtInNames } from '../../../src/matrix/built-in.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import { buildPlan } from '../../../src/plan/build.js';
import { estimate } from '../../../src/plan/estimate.js';

const rejection = (name: string): QualifyError => {
  try {
    loadMatrix(name);
  } catch (error) {
    if (error instanceof QualifyError) return error;
    throw error;
  }
  throw new Error('loaded');
};

test('every built-in matrix bears the name of its file and can be planned', () => {
  assert.deepEqual(builtInNames(), ['prefill-short', 'prefill-short-pr', 'smoke']);
  for (const name of builtInNames()) {
    const { matrix, digest, source } = loadMatrix(name);
    assert.equal(matrix.name, name);
    assert.equal(source, `built-in:${name}`);
    const plan = buildPlan(matrix, { session: 'test-session', seed: 'a'.repeat(64) });
    assert.equal(plan.matrix.digest, digest);
    assert.deepEqual(
      plan.arms.map((arm) => arm.name),
      ['base', 'head'],
    );
  }
});

test('prefill-short has the cells of the source pull request and ends within 8 minutes', () => {
  const { matrix } = loadMatrix('prefill-short');
  const plan = buildPlan(matrix, { session: 'test-session', seed: 'a'.repeat(64) });
  assert.deepEqual(
    plan.cells.map((cell) => cell.id),
    ['401/512', '2048/2048'],
  );
  assert.ok(estimate(plan).seconds.cap < 480);
});

test('throughput is decided by wall time; only the smoke test bears a shared machine', () => {
  assert.deepEqual(
    builtInNames().map((name) => [name, loadMatrix(name).matrix.protocol.clock]),
    [
      ['prefill-short', 'wall'],
      ['prefill-short-pr', 'wall'],
      ['smoke', 'cpu'],
    ],
  );
});

test('a name that nearly exists is suggested, a path that does not exist is named', () => {
  const near = rejection('prefil-short');
  assert.equal(near.code, 'ERR_QUALIFY_MATRIX_NOT_FOUND');
  assert.equal(near.exitCode, 64);
  assert.equal(near.hint, 'did you mean "prefill-short"?');
  assert.match(rejection('zzz').hint ?? '', /prefill-short, prefill-short-pr, smoke/);
  assert.match(rejection('./nowhere.yaml').message, /nowhere\.yaml/);
});
