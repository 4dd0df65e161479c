/** Matrices that leave their revisions to `qualify pr`, as `init` writes them and as `prefill-short-pr` is, in other commands. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import { Repository } from '../support/repository.js';
import { type CliResult, Home } from '../support/run-cli.js';

interface Place {
  home: Home;
  repository: Repository;
  commit: string;
  /** Path of a matrix whose arms are `base` at `base` and `head` at `head`. */
  matrix: string;
  run: (...args: string[]) => Promise<CliResult>;
}

/** A repository of an engine that builds in a second and is none: whatever is launched dies. */
function placeOf(t: TestContext): Place {
  const home = new Home();
  t.after(() => home.remove());
  const repository = new Repository(home.path('repository'));
  cpSync(join(harnessFolder, 'test/fixtures/tiny-engine'), repository.folder, { recursive: true });
  const commit = repository.commit('an engine');
  const text = JSON.parse(readFileSync(home.fakeMatrix(), 'utf8'));
  const matrix = home.path('left.yaml');
  writeFileSync(
    matrix,
    JSON.stringify({ ...text, arms: { base: { revision: 'base' }, head: { revision: 'head' } } }),
  );
  const run = (...args: string[]): Promise<CliResult> =>
    home.start(args, { cwd: repository.folder }).finished;
  return { home, repository, commit, matrix, run };
}

const built = (home: Home, folder = 'run'): unknown[] =>
  home
    .journal(folder)
    .flatMap((entry) =>
      entry.kind === 'build' ? [[entry.arms, entry.revision.requested, entry.revision.commit]] : [],
    );

describe('a matrix that leaves its revisions to qualify pr', () => {
  test('is refused by run, which names the command that puts them in', async (t) => {
    const { matrix, run } = placeOf(t);
    for (const name of ['prefill-short-pr', matrix]) {
      const { exitCode, stderr } = await run('run', name);
      assert.equal(exitCode, 64, stderr);
      assert.match(stderr, /leaves the revision of base and head to qualify pr/);
      assert.ok(stderr.includes(`qualify pr --matrix ${name}`), stderr);
    }
  });

  test('is run as it stands where the repository has such revisions', async (t) => {
    const { home, repository, commit, matrix, run } = placeOf(t);
    repository.git('branch', 'base');
    repository.git('branch', 'head');
    const { exitCode, stderr } = await run('run', matrix, '--out', home.path('run'));
    assert.equal(exitCode, 15, stderr);
    assert.deepEqual(built(home), [
      [['base'], 'base', commit],
      [['head'], 'head', commit],
    ]);
  });

  test('is measured by switches on the working tree, which is said', async (t) => {
    const { home, commit, matrix, run } = placeOf(t);
    const args = ['switches', matrix, '--switch', 'MINE=0,1', '--out', home.path('run')];
    const { exitCode, stderr } = await run(...args);
    assert.equal(exitCode, 15, stderr);
    assert.match(
      stderr.replaceAll(/\s+/g, ' '),
      /base and head to qualify pr; here the working tree is measured/,
    );
    assert.deepEqual(built(home), [[['all-on', 'all-off'], 'worktree', commit]]);
  });

  test('is measured by calibrate on the working tree, which is said', async (t) => {
    const { home, repository, commit, matrix, run } = placeOf(t);
    const { exitCode, stderr } = await run('calibrate', '--matrix', matrix, '--sessions', '1');
    assert.equal(exitCode, 15, stderr);
    assert.match(stderr.replaceAll(/\s+/g, ' '), /here the working tree is measured/);
    const [session = ''] = readdirSync(join(repository.folder, '.qualify/runs'));
    assert.deepEqual(built(home, `repository/.qualify/runs/${session}`), [[['a', 'b'], 'worktree', commit]]);
  });
});
