/** A session that is ended while it builds a commit leaves no compiler and no worktree. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { eventually, nothingRunsOf } from '../support/eventually.js';
import { Repository } from '../support/repository.js';
import { Home, type StartedCli } from '../support/run-cli.js';

const worktrees = (home: Home): string[] => {
  const folder = home.path('cache', 'qualify', 'worktrees');
  return existsSync(folder) ? readdirSync(folder) : [];
};

/** A session that builds a commit whose build never ends, at the moment in which the build says so. */
async function building(
  t: TestContext,
): Promise<{ home: Home; repository: Repository; started: StartedCli }> {
  const home = new Home();
  t.after(() => home.remove());
  const repository = new Repository(home.path('repository'));
  const witness = home.path('building');
  repository.write(
    'native/CMakeLists.txt',
    `cmake_minimum_required(VERSION 3.20)\nproject(hang NONE)\nexecute_process(COMMAND sh -c "touch '${witness}'; sleep 1000")\n`,
  );
  repository.commit('a build that hangs');
  const args = ['compare', 'HEAD', 'worktree', '--matrix', home.fakeMatrix(), '--out', home.path('run')];
  const started = home.start(args, { cwd: repository.folder });
  await eventually(() => existsSync(witness) || started.child.exitCode !== null, 'the build has begun');
  assert.equal(started.child.exitCode, null, started.stderr());
  assert.equal(worktrees(home).length, 2, 'a folder and its owner file');
  return { home, repository, started };
}

async function assertNothingRuns(home: Home): Promise<void> {
  await nothingRunsOf(home);
  assert.deepEqual(readdirSync(home.path('tmp')), []);
}

const listed = (repository: Repository): number =>
  repository.git('worktree', 'list', '--porcelain').split('\n\n').length;

describe('a session that is ended while it builds', () => {
  test('by SIGINT leaves neither compiler nor worktree', async (t) => {
    const { home, repository, started } = await building(t);
    started.child.kill('SIGINT');
    const result = await started.finished;
    assert.equal(result.exitCode, 12, result.stderr);
    assert.deepEqual(worktrees(home), []);
    assert.equal(listed(repository), 1);
    await assertNothingRuns(home);
  });

  test('by SIGKILL leaves neither compiler, worktree, scratch folder nor lock', async (t) => {
    const { home, repository, started } = await building(t);
    started.child.kill('SIGKILL');
    await started.finished;
    const builds = home.path('cache', 'qualify', 'builds');
    const isClean = () =>
      readdirSync(builds).length === 0 && worktrees(home).length === 0 && listed(repository) === 1;
    await eventually(isClean, 'worktree and build are gone');
    assert.deepEqual(readdirSync(builds), []);
    assert.deepEqual(worktrees(home), []);
    assert.equal(listed(repository), 1);
    await assertNothingRuns(home);
  });
});
