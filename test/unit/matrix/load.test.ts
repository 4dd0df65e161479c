import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { builtInNames } from '../../../src/matrix/built-in.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import { buildPlan } from '../../../src/plan/build.js';
import { estimate } from '../../../src/plan/estimate.js';
import { scratchFolder } from '../../support/folder.js';

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
  assert.deepEqual(builtInNames(), [
    'calibrate',
    'fast-exp',
    'long-context-pr',
    'peer-llama-cpp',
    'peer-llama-cpp-mxfp4',
    'peer-llama-cpp-q2_k',
    'prefill-short',
    'prefill-short-pr',
    'simulated',
    'smoke',
    'switches',
    'telemetry-cost',
  ]);
  for (const name of builtInNames()) {
    const { matrix, digest, source } = loadMatrix(name);
    assert.equal(matrix.name, name);
    assert.equal(source, `built-in:${name}`);
    const plan = buildPlan(matrix, { session: 'test-session', seed: 'a'.repeat(64) });
    assert.equal(plan.matrix.digest, digest);
    const peer = ['llama-cpp', 'qualify'];
    assert.equal(plan.arms.at(-1)?.control, 'null');
    const names = plan.arms.slice(0, -1).map((arm) => arm.name);
    if (name.startsWith('peer-')) assert.deepEqual(names, peer);
    else if (name !== 'switches') assert.deepEqual(names, ['base', 'head']);
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

test('throughput is decided by wall time; only the smoke test and what is simulated bear a shared machine', () => {
  for (const name of builtInNames()) {
    const clock = ['smoke', 'simulated'].includes(name) ? 'cpu' : 'wall';
    assert.equal(loadMatrix(name).matrix.protocol.clock, clock, name);
  }
});

test('switches has every switch that picks kernels in every arm, and turns each on in one arm beside the last', () => {
  const { matrix } = loadMatrix('switches');
  const plan = buildPlan(matrix, { session: 'test-session', seed: 'a'.repeat(64) });
  assert.ok(estimate(plan).seconds.cap < 600);
  const [off, ...others] = Object.values(matrix.arms);
  const names = Object.keys(off?.switches ?? {});
  for (const { switches } of others) assert.deepEqual(Object.keys(switches).toSorted(), names.toSorted());
  const changed = others
    .slice(0, -1)
    .map(({ switches }) => names.filter((name) => switches[name] !== off?.switches[name]));
  assert.equal(new Set(changed.map((list) => list.join())).size, changed.length);
  // The fast exponential rounds otherwise and has a matrix of its own.
  assert.deepEqual(
    names.filter((name) => !changed.flat().includes(name)),
    ['GGML_CUDA_MLA_STREAM_FAST_EXP'],
  );
});

test('the matrices of the peer differ in the type of the experts alone', () => {
  const [first, ...others] = builtInNames()
    .filter((name) => name.startsWith('peer-'))
    .map((name) => ({ ...loadMatrix(name).matrix, name: '', title: '', model: null }));
  for (const other of others) assert.deepEqual(other, first);
});

test('a file that is not UTF-8 is refused', async (t) => {
  const path = join(await scratchFolder(t), 'm.yaml');
  writeFileSync(path, Buffer.concat([Buffer.from('# caf'), Buffer.from([0xe9]), Buffer.from('\n')]));
  const { code, message, where } = rejection(path);
  assert.equal(code, 'ERR_QUALIFY_MATRIX_INVALID');
  assert.equal(message, `${path} is not UTF-8`);
  assert.equal(where, path);
});

test('a name that nearly exists is suggested, a path that does not exist is named', () => {
  const near = rejection('prefil-short');
  assert.equal(near.code, 'ERR_QUALIFY_MATRIX_NOT_FOUND');
  assert.equal(near.exitCode, 64);
  assert.equal(near.hint, 'did you mean "prefill-short"?');
  assert.match(rejection('zzz').hint ?? '', /prefill-short, prefill-short-pr, simulated, smoke, switches/);
  assert.match(rejection('./nowhere.yaml').message, /nowhere\.yaml/);
});
