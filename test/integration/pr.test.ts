/** `qualify pr` on a real repository of a tiny engine that builds in a second but is no engine: builds are real, launches fail. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import { Repository } from '../support/repository.js';
import { Home } from '../support/run-cli.js';

function branched(t: TestContext): { home: Home; repository: Repository; base: string; head: string } {
  const home = new Home();
  t.after(() => home.remove());
  const repository = new Repository(home.path('repository'));
  cpSync(join(harnessFolder, 'test/fixtures/tiny-engine'), repository.folder, { recursive: true });
  const base = repository.commit('base');
  repository.git('checkout', '--quiet', '-b', 'feature');
  repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 43;\n');
  const head = repository.commit('another answer');
  return { home, repository, base, head };
}

describe('qualify pr', () => {
  test('builds the head and the merge base with main from clean worktrees, by one recipe', async (t) => {
    const { home, repository, base, head } = branched(t);
    const args = ['pr', '--matrix', home.fakeMatrix(), '--out', home.path('run')];
    const result = await home.start(args, { cwd: repository.folder }).finished;
    assert.equal(result.exitCode, 15, result.stderr);
    assert.match(result.stderr, new RegExp(`base is ${base}`));
    const builds = home.journal().filter((entry) => entry.kind === 'build');
    assert.deepEqual(
      builds.map(({ arms, revision }) => [arms, revision.commit, revision.dirty]),
      [
        [['base'], base, false],
        [['head'], head, false],
      ],
    );
    assert.equal(new Set(builds.map(({ recipeDigest }) => recipeDigest)).size, 1);
    assert.equal(new Set(builds.map(({ binarySha256 }) => binarySha256)).size, 2);
    for (const { log } of builds) assert.ok(existsSync(home.path('run', log.path)));
    assert.deepEqual(readdirSync(home.path('cache', 'qualify', 'worktrees')), []);
    assert.deepEqual(
      home.journal().flatMap((entry) => (entry.kind === 'failure' ? [entry.code] : [])),
      ['ERR_QUALIFY_ENGINE_DIED'],
    );
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('shows the last lines of a build that fails, and where its log is', async (t) => {
    const { home, repository } = branched(t);
    repository.write('kernels/answer.h', '#error no answer today\n');
    repository.commit('broken');
    const args = ['pr', '--matrix', home.fakeMatrix(), '--out', home.path('run')];
    const result = await home.start(args, { cwd: repository.folder }).finished;
    assert.equal(result.exitCode, 15, result.stderr);
    assert.match(result.stderr, /no answer today/);
    const log = /at: +(\S+\.log)/.exec(result.stderr)?.[1];
    assert.ok(log !== undefined && existsSync(log), result.stderr);
    assert.deepEqual(readdirSync(home.path('cache', 'qualify', 'worktrees')), []);
    assert.equal(home.verdict().exitCode, 15);
  });

  test('never calls a dirty tree a commit', async (t) => {
    const { home, repository, base } = branched(t);
    repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 44;\n');
    const args = [
      'pr',
      '--base',
      'main',
      '--head',
      'worktree',
      '--matrix',
      home.fakeMatrix(),
      '--out',
      home.path('run'),
    ];
    const result = await home.start(args, { cwd: repository.folder }).finished;
    assert.equal(result.exitCode, 15, result.stderr);
    const builds = home.journal().filter((entry) => entry.kind === 'build');
    assert.deepEqual(
      builds.map(({ revision }) => [revision.requested, revision.commit, revision.dirty]),
      [
        ['main', base, false],
        ['worktree', null, true],
      ],
    );
  });

  test('takes revisions that differ in documents and tests only for one engine, built once', async (t) => {
    const { home, repository } = branched(t);
    repository.write('README.md', 'words');
    repository.write('native/test/a_test.cpp', '// a test');
    repository.commit('words and a test');
    const args = ['pr', '--base', 'HEAD~1', '--head', 'HEAD', '--matrix', home.fakeMatrix()];
    const result = await home.start([...args, '--out', home.path('run')], { cwd: repository.folder })
      .finished;
    // The tiny engine builds and cannot serve, so the session ends there; what it was about is said all the same.
    assert.equal(result.exitCode, 15, result.stderr);
    const builds = home.journal().filter((entry) => entry.kind === 'build');
    assert.equal(new Set(builds.map(({ revision }) => revision.commit)).size, 2);
    assert.equal(new Set(builds.map(({ revision }) => revision.tree)).size, 1);
    assert.deepEqual(
      builds.map(({ cached }) => cached),
      [false, true],
    );
    assert.match(
      result.stdout.replaceAll(/\s+/g, ' '),
      /base and head build the same engine: this compares it with itself/,
    );
  });
});
