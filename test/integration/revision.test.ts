/** Revisions and worktrees against real git repositories. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { QualifyError } from '../../src/errors.js';
import { harnessFolder } from '../../src/harness.js';
import {
  engineRepository,
  mergeBaseWithMain,
  resolveRevision,
  revisionOfTree,
} from '../../src/revision/resolve.js';
import { addWorktree, removeStaleWorktrees, removeWorktreesNow } from '../../src/revision/worktree.js';
import { scratchFolder } from '../support/folder.js';
import { Repository } from '../support/repository.js';

const cacheBefore = process.env.XDG_CACHE_HOME;
after(() => {
  if (cacheBefore === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = cacheBefore;
});

/** A repository with one commit; the cache is beside it. */
async function newRepository(
  t: TestContext,
): Promise<{ repository: Repository; first: string; worktrees: string }> {
  const folder = await scratchFolder(t);
  process.env.XDG_CACHE_HOME = join(folder, 'cache');
  const repository = new Repository(join(folder, 'repository'));
  const first = repository.commit('first');
  return { repository, first, worktrees: join(folder, 'cache', 'qualify', 'worktrees') };
}

const refuses = (exitCode: number, message: RegExp) => (error: unknown) =>
  error instanceof QualifyError && error.exitCode === exitCode && message.test(error.message);

describe('revisions', () => {
  test('resolve to commits, the tree, or a prebuilt folder', async (t) => {
    const { repository, first } = await newRepository(t);
    const at = repository.folder;
    repository.git('tag', '--annotate', '--message', 'v1', 'v1');
    assert.deepEqual(await resolveRevision('v1', at), {
      kind: 'commit',
      requested: 'v1',
      repository: at,
      commit: first,
    });
    assert.deepEqual(await resolveRevision('worktree', at), {
      kind: 'tree',
      requested: 'worktree',
      folder: at,
    });
    assert.deepEqual(await resolveRevision('prebuilt:/a/b', at), {
      kind: 'prebuilt',
      requested: 'prebuilt:/a/b',
      folder: '/a/b',
    });
  });

  test('are those of the folder, also inside a hook of another repository', async (t) => {
    const { repository, first } = await newRepository(t);
    t.after(() => {
      delete process.env.GIT_DIR;
    });
    process.env.GIT_DIR = '/nowhere';
    const resolved = await resolveRevision('HEAD', repository.folder);
    assert.equal(resolved.kind === 'commit' && resolved.commit, first);
  });

  test('that do not exist, or look like options, are refused', async (t) => {
    const { repository } = await newRepository(t);
    await assert.rejects(resolveRevision('no-such', repository.folder), refuses(64, /no-such/));
    await assert.rejects(resolveRevision('--all', repository.folder), refuses(64, /--all/));
  });

  test('a clean tree is its commit; a changed or untracked engine file makes it none', async (t) => {
    const { repository, first } = await newRepository(t);
    const clean = await revisionOfTree('worktree', repository.folder);
    assert.deepEqual([clean.commit, clean.dirty], [first, false]);
    repository.write('README.md', 'not a part of the engine');
    repository.write('native/build/cache', 'not a source');
    repository.write('native/test/engine_test.cpp', '// not built by the recipe');
    repository.write('kernels/test/math_test.cpp', '// nor is this');
    assert.deepEqual(await revisionOfTree('worktree', repository.folder), clean);
    repository.write('kernels/b.h', '// untracked\n');
    const dirty = await revisionOfTree('worktree', repository.folder);
    assert.deepEqual([dirty.commit, dirty.dirty], [null, true]);
    assert.notEqual(dirty.tree, clean.tree);
  });

  test('an engine file that git ignores makes the tree dirty', async (t) => {
    const { repository } = await newRepository(t);
    repository.write('.gitignore', '*.inc\n');
    repository.commit('ignore');
    repository.write('kernels/table.inc', '1, 2, 3');
    assert.equal((await revisionOfTree('worktree', repository.folder)).dirty, true);
  });

  test('the repository around a folder counts when it holds an engine, else the harness', async (t) => {
    const { repository } = await newRepository(t);
    assert.equal(await engineRepository(join(repository.folder, 'native')), repository.folder);
    assert.equal(await engineRepository(await scratchFolder(t)), harnessFolder);
  });
});

describe('merge base', () => {
  test('is where the head left main, by the main that is nearest', async (t) => {
    const { repository, first } = await newRepository(t);
    repository.git('branch', 'stale-main');
    const second = repository.commit('second');
    repository.git('update-ref', 'refs/remotes/origin/main', second);
    repository.git('checkout', '--quiet', '-b', 'feature');
    repository.git('branch', '--force', 'main', first);
    repository.commit('third');
    assert.equal(await mergeBaseWithMain(repository.folder, 'feature'), second);
  });

  test('is of the branches that main goes by, and not of tags of their names', async (t) => {
    const { repository, first } = await newRepository(t);
    const second = repository.commit('second');
    repository.git('update-ref', 'refs/remotes/origin/main', first);
    repository.git('checkout', '--quiet', '-b', 'feature');
    const third = repository.commit('third');
    repository.commit('fourth');
    repository.git('branch', '--force', 'main', first);
    for (const name of ['main', 'origin/main']) repository.git('tag', name, third);
    assert.equal(await mergeBaseWithMain(repository.folder, 'HEAD'), first);
    assert.notEqual(second, first);
    await assert.rejects(
      resolveRevision('main', repository.folder),
      refuses(64, /"main" stands for more than one thing .*refs\/heads\/main, .*refs\/tags\/main/),
    );
  });

  test('is of the branch that the remote calls its own, whatever its name', async (t) => {
    const { repository, first } = await newRepository(t);
    repository.git('branch', '--move', 'main', 'feature');
    repository.git('update-ref', 'refs/remotes/origin/trunk', first);
    repository.commit('second');
    await assert.rejects(mergeBaseWithMain(repository.folder, 'feature'), refuses(64, /no main/));
    repository.git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/trunk');
    assert.equal(await mergeBaseWithMain(repository.folder, 'feature'), first);
  });

  test('is refused for a head on main, and where there is no main', async (t) => {
    const { repository } = await newRepository(t);
    await assert.rejects(mergeBaseWithMain(repository.folder, 'HEAD'), refuses(64, /on main already/));
    repository.git('branch', '--move', 'main', 'trunk');
    await assert.rejects(mergeBaseWithMain(repository.folder, 'HEAD'), refuses(64, /no main/));
  });
});

describe('worktrees', () => {
  const listed = (repository: Repository): number =>
    repository.git('worktree', 'list', '--porcelain').split('\n\n').length;

  test('hold the commit outside the working tree, run no hooks, and go', async (t) => {
    const { repository, first, worktrees } = await newRepository(t);
    const witness = join(worktrees, '..', 'hook-ran');
    repository.write('.git/hooks/post-checkout', `#!/bin/sh\ntouch '${witness}'\n`);
    spawnSync('chmod', ['+x', join(repository.folder, '.git/hooks/post-checkout')]);
    repository.write('kernels/a.h', '// changed\n');
    const worktree = await addWorktree(repository.folder, first, 'session-1');
    assert.equal(readFileSync(join(worktree.folder, 'kernels/a.h'), 'utf8'), '// one\n');
    assert.ok(worktree.folder.startsWith(worktrees));
    assert.equal(existsSync(witness), false);
    assert.match(repository.git('worktree', 'list', '--porcelain'), /^locked qualify session-1/m);
    await worktree.remove();
    await worktree.remove();
    assert.deepEqual(readdirSync(worktrees), []);
    assert.equal(listed(repository), 1);
  });

  test('have their submodules checked out', async (t) => {
    const { repository, worktrees } = await newRepository(t);
    const part = new Repository(join(repository.folder, '..', 'part'));
    part.commit('part');
    repository.git(
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      part.folder,
      'kernels/part',
    );
    const commit = repository.commit('with a submodule');
    // Git clones submodules from local paths only when told to; remotes need no such word.
    process.env.GIT_CONFIG_COUNT = '1';
    process.env.GIT_CONFIG_KEY_0 = 'protocol.file.allow';
    process.env.GIT_CONFIG_VALUE_0 = 'always';
    t.after(() => {
      for (const name of ['GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_VALUE_0'])
        delete process.env[name];
    });
    const worktree = await addWorktree(repository.folder, commit, 'session-2');
    assert.ok(existsSync(join(worktree.folder, 'kernels/part/kernels/a.h')));
    await worktree.remove();
    assert.deepEqual(readdirSync(worktrees), []);
  });

  test('of a process that is no more are removed by the next session, those of a living one are not', async (t) => {
    const { repository, first, worktrees } = await newRepository(t);
    const living = await addWorktree(repository.folder, first, 'living');
    const dead = await addWorktree(repository.folder, first, 'dead');
    const owner = { pid: process.pid, startTicks: 1, repository: repository.folder };
    writeFileSync(`${dead.folder}.owner.json`, JSON.stringify(owner));
    assert.deepEqual(await removeStaleWorktrees(), [dead.folder]);
    assert.deepEqual(readdirSync(worktrees).toSorted(), ['living', 'living.owner.json']);
    assert.equal(listed(repository), 2);
    await living.remove();
  });

  test('go without waiting when the process exits', async (t) => {
    const { repository, first, worktrees } = await newRepository(t);
    await addWorktree(repository.folder, first, 'session-3');
    removeWorktreesNow();
    assert.deepEqual(readdirSync(worktrees), []);
    assert.equal(listed(repository), 1);
  });

  test('leave nothing when the checkout fails', async (t) => {
    const { repository, worktrees } = await newRepository(t);
    await assert.rejects(
      addWorktree(repository.folder, 'f'.repeat(40), 'session-4'),
      refuses(15, /git worktree add/),
    );
    assert.deepEqual(readdirSync(worktrees), []);
  });
});
