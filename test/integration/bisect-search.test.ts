/** What bisections of real git repositories find, with sessions whose outcome is written in the commit. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderBisection } from '../../src/bisect/render.js';
import { sessions, speeds } from '../fixtures/speeds.js';

describe('a bisection', () => {
  test('finds the culprit in the middle of eight commits by the ends, three steps, and a confirmation', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 100, 100, 100, 70, 70, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[8] ?? '');
    assert.equal(found.result, 'confirmed');
    assert.equal(found.exitCode, 0);
    assert.equal(found.culprit?.commit, names[5]);
    assert.ok(one.asked.length <= 5, sessions(one).join(' '));
    assert.deepEqual(sessions(one).at(0), 'c0..c8');
    assert.deepEqual(sessions(one).at(-1), 'c4..c5');
    assert.ok(
      sessions(one)
        .slice(0, -1)
        .every((session) => session.startsWith('c0..')),
    );
    assert.equal(new Set(one.asked.map(({ run }) => run)).size, one.asked.length);
    assert.equal(one.saved.at(-1)?.result, 'confirmed');
    assert.ok(one.saved.length > 4, 'what is known is kept from step to step');
    one.assertClean();
    const text = renderBisection(found, '.qualify/bisect/test-bisect');
    assert.match(text, /^The culprit is [0-9a-f]{12} "c5"\.\nConfirmed: against its parent/);
    assert.ok(
      text.split('\n').every((line) => line.length <= 80),
      text,
    );
  });

  test('does not touch the checkout, nor a bisection of the user', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    one.repository.git('bisect', 'start', names[3] ?? '', names[0] ?? '');
    one.repository.write('kernels/a.h', '// under way\n');
    const state = () =>
      ['bisect log', 'rev-parse HEAD', 'status --porcelain', 'for-each-ref'].map((args) =>
        one.repository.git(...args.split(' ')),
      );
    const before = state();
    const { result, culprit } = await one.bisect(names[0] ?? '', names[3] ?? '');
    assert.deepEqual([result, culprit?.commit], ['confirmed', names[2]]);
    assert.deepEqual(state(), before);
  });

  test('skips what cannot be measured, and finds the culprit beside it', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 100, 'broken', 100, 70, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[7] ?? '');
    assert.deepEqual([found.result, found.culprit?.commit], ['confirmed', names[5]]);
    const broken = found.tried.find(({ commit }) => commit === names[3]);
    assert.ok(broken === undefined || broken.outcome === 'refused');
    assert.ok(
      found.tried.some(({ outcome }) => outcome === 'refused'),
      'the middle is what cannot be measured',
    );
  });

  test('names the commits that it cannot tell apart', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 'broken', 'broken', 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[5] ?? '');
    assert.deepEqual([found.result, found.exitCode, found.culprit], ['range', 11, null]);
    assert.deepEqual(found.range?.toSorted(), names.slice(2, 5).toSorted());
    assert.match(renderBisection(found, '.'), /^The culprit is one of these 3 commits/);
    one.assertClean();
  });

  test('takes the outcome of an engine that was measured, and tries no commit that changes none', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'fast');
    one.repository.write('README.md', 'words');
    one.repository.write('kernels/test/a_test.cpp', '// a test');
    one.repository.commit('words and a test');
    one.commit(70, 'slow');
    one.commit(100, 'fast');
    const culprit = one.commit(70, 'slow');
    one.commit(60, 'slower');
    const bad = one.commit(70, 'slow');
    const found = await one.bisect(good, bad);
    assert.equal(found.commits, 5);
    const reused = found.tried.filter(({ sameAs }) => sameAs !== null);
    assert.ok(reused.length > 0, JSON.stringify(found.tried));
    assert.ok(reused.every(({ runs, seconds }) => runs.length === 0 && seconds === 0));
    const heads = one.asked
      .slice(0, -1)
      .map(({ head }) => one.repository.git('rev-parse', `${head}:kernels`));
    assert.equal(new Set(heads).size, heads.length, 'no engine is measured twice against GOOD');
    assert.ok(['confirmed'].includes(found.result) && found.culprit !== null);
    assert.ok([culprit, one.repository.git('rev-parse', `${culprit}~2`)].includes(found.culprit.commit));
    const tried = found.tried.map(({ subject }) => subject);
    assert.ok(!tried.includes('words and a test'));
  });

  test('says when the culprit is not slower than its parent by itself', async (t) => {
    const one = await speeds(t);
    const names = [100, 99.2, 98.4, 97.6, 96.8].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[4] ?? '');
    assert.deepEqual([found.result, found.exitCode, found.culprit?.commit], ['not-confirmed', 11, names[3]]);
    assert.equal(found.confirmation?.outcome, 'good');
    assert.match(renderBisection(found, '.').replaceAll('\n', ' '), /Not confirmed: .* Is it gradual\?/);
  });

  test('looks at the merge base when GOOD is no ancestor of BAD', async (t) => {
    const one = await speeds(t);
    const base = one.commit(100, 'base');
    one.repository.git('checkout', '--quiet', '-b', 'release');
    const release = one.commit(100, 'release');
    one.repository.git('checkout', '--quiet', 'main');
    const culprit = one.commit(70, 'slow');
    const bad = one.commit(70, 'later');
    const found = await one.bisect(release, bad);
    assert.deepEqual([found.mergeBase, found.result, found.culprit?.commit], [base, 'confirmed', culprit]);
    assert.ok(sessions(one).includes('release..base'));
    assert.match(renderBisection(found, '.'), /GOOD is no ancestor of BAD; they part at/);
  });

  test('says when what is slower lies before the merge base: GOOD has what BAD never had', async (t) => {
    const one = await speeds(t);
    one.commit(70, 'base');
    one.repository.git('checkout', '--quiet', '-b', 'release');
    const release = one.commit(100, 'faster');
    one.repository.git('checkout', '--quiet', 'main');
    one.commit(70, 'slow');
    const found = await one.bisect(release, one.commit(70, 'later'));
    assert.deepEqual([found.result, found.exitCode, found.culprit], ['older', 11, null]);
    assert.match(
      renderBisection(found, '.').replaceAll('\n', ' '),
      /GOOD has something faster that BAD never had/,
    );
    one.assertClean();
  });

  test('finds the commit of a branch, or with first parents only the merge that brought it', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'base');
    one.repository.git('checkout', '--quiet', '-b', 'feature');
    one.repository.write('kernels/b', 'feature');
    one.repository.commit('prepare');
    one.repository.write('kernels/speed', '70\n');
    const culprit = one.repository.commit('slow');
    one.repository.git('checkout', '--quiet', 'main');
    one.repository.write('kernels/c', 'main');
    one.repository.commit('other work');
    one.repository.git('merge', '--quiet', '--no-ff', '--message', 'merge', 'feature');
    const merge = one.repository.git('rev-parse', 'HEAD');
    one.repository.write('kernels/c', 'later');
    const bad = one.repository.commit('later');
    const whole = await one.bisect(good, bad);
    assert.deepEqual([whole.result, whole.culprit?.commit], ['confirmed', culprit]);
    const first = await one.bisect(good, bad, { firstParent: true });
    assert.deepEqual(
      [first.result, first.culprit?.commit, first.culprit?.parents.length],
      ['confirmed', merge, 2],
    );
    assert.match(renderBisection(first, '.').replaceAll('\n', ' '), /It is a merge: .*first parents only/);
  });
});
