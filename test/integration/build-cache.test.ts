import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import { processIds } from '../../src/machine/procfs.js';
import { buildEngine } from '../../src/revision/build-cache.js';
import { type BuildProgress, parseProgress } from '../../src/revision/build-process.js';
import { recipeEnvironment } from '../../src/revision/recipe.js';
import { sourceTreeDigest } from '../../src/revision/source-tree.js';
import { removeFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';
import { scratchRoot } from '../support/scratch-root.js';

const folder = mkdtempSync(join(scratchRoot, 'qualify-build-'));
const builds = join(folder, 'cache', 'qualify', 'builds');
const cacheBefore = process.env.XDG_CACHE_HOME;
const pathBefore = process.env.PATH;

/** A copy of the tiny engine that the test may change. */
function copyEngine(name: string): string {
  const copy = join(folder, name);
  cpSync(join(harnessFolder, 'test/fixtures/tiny-engine'), copy, { recursive: true });
  return copy;
}

describe('the build cache', () => {
  before(() => {
    process.env.XDG_CACHE_HOME = join(folder, 'cache');
  });
  after(() => {
    if (cacheBefore === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = cacheBefore;
    return removeFolder(folder);
  });

  it('builds once, reports progress, and takes the second from the cache wherever the sources lie', async () => {
    const steps: BuildProgress[] = [];
    const first = await buildEngine({
      sourceFolder: copyEngine('one'),
      onProgress: (step) => steps.push(step),
    });
    assert.equal(first.cached, false);
    assert.equal(createRequire(import.meta.url)(first.binary).answer, 42);
    assert.ok(steps.some(({ phase, done }) => phase === 'compile' && done !== null));
    assert.ok(first.toolchain.compiler && first.toolchain.cmake && first.toolchain['node-api-headers']);
    assert.match(readFileSync(first.logPath, 'utf8'), /^\$ .*cmake -S /m);
    const second = await buildEngine({ sourceFolder: copyEngine('two') });
    assert.deepEqual({ ...second, cached: false }, first);
    assert.equal(second.cached, true);
    assert.deepEqual(readdirSync(builds), [first.buildDigest]);
  });

  it('gives other sources another digest and another binary', async () => {
    const source = copyEngine('changed');
    const first = await buildEngine({ sourceFolder: source });
    writeFileSync(join(source, 'kernels/answer.h'), '#pragma once\nconstexpr int kAnswer = 43;\n');
    const second = await buildEngine({ sourceFolder: source });
    assert.notEqual(second.buildDigest, first.buildDigest);
    assert.notEqual(second.binarySha256, first.binarySha256);
    assert.equal(second.recipeDigest, first.recipeDigest);
  });

  it('gives the same bytes for the same sources in another folder', async () => {
    const first = await buildEngine({ sourceFolder: copyEngine('here') });
    rmSync(first.folder, { recursive: true });
    const second = await buildEngine({ sourceFolder: copyEngine('there') });
    assert.equal(second.cached, false);
    assert.equal(second.binarySha256, first.binarySha256);
  });

  it('makes a damaged build again', async () => {
    const source = copyEngine('damaged');
    const first = await buildEngine({ sourceFolder: source });
    writeFileSync(first.binary, 'not what was built');
    const second = await buildEngine({ sourceFolder: source });
    assert.equal(second.cached, false);
    assert.equal(second.binarySha256, first.binarySha256);
  });

  it('builds once when two ask at the same time', async () => {
    const source = copyEngine('twice');
    writeFileSync(join(source, 'kernels/answer.h'), '#pragma once\nconstexpr int kAnswer = 44;\n');
    const both = await Promise.all([
      buildEngine({ sourceFolder: source }),
      buildEngine({ sourceFolder: source }),
    ]);
    assert.deepEqual(both.map(({ cached }) => cached).sort(), [false, true]);
  });

  it('shows the last lines of a failing build and keeps its log', async () => {
    const source = copyEngine('failing');
    writeFileSync(join(source, 'kernels/answer.h'), 'constexpr int kAnswer = nonsense;\n');
    const error = await refusal(buildEngine({ sourceFolder: source }));
    assert.equal(error.code, 'ERR_QUALIFY_BUILD_FAILED');
    assert.equal(error.exit, 'infrastructure');
    assert.match(error.message, /nonsense/);
    assert.ok(error.message.split('\n').length <= 21);
    assert.match(readFileSync(error.where ?? '', 'utf8'), /nonsense/);
    assert.deepEqual(
      readdirSync(builds).filter((name) => name.startsWith('.') || name.endsWith('.lock')),
      [],
    );
  });

  it('leaves no process and no file when it is aborted', async () => {
    const source = copyEngine('aborted');
    const lists = join(source, 'native/CMakeLists.txt');
    const text = readFileSync(lists, 'utf8');
    writeFileSync(
      lists,
      `${text}\nadd_custom_target(stall COMMAND sleep 86399)\nadd_dependencies(engine stall)\n`,
    );
    const stop = new AbortController();
    const reason = new Error('stopped');
    const poll = setInterval(() => sleepers().length > 0 && stop.abort(reason), 20);
    await assert.rejects(buildEngine({ sourceFolder: source, signal: stop.signal }), reason);
    clearInterval(poll);
    assert.deepEqual(sleepers(), []);
    assert.deepEqual(
      readdirSync(builds).filter((name) => name.startsWith('.') || name.endsWith('.lock')),
      [],
    );
  });

  it('refuses a build whose sources changed while they were compiled', async () => {
    const source = copyEngine('moving');
    writeFileSync(join(source, 'kernels/answer.h'), '#pragma once\nconstexpr int kAnswer = 45;\n');
    const onProgress = () => writeFileSync(join(source, 'kernels/another.h'), '// edited meanwhile\n');
    const error = await refusal(buildEngine({ sourceFolder: source, onProgress }));
    assert.equal(error.code, 'ERR_QUALIFY_SOURCES_CHANGED');
    assert.equal((await buildEngine({ sourceFolder: source })).cached, false);
  });

  it('names a missing tool with its remedy', async () => {
    process.env.PATH = join(folder, 'empty');
    try {
      const error = await refusal(buildEngine({ sourceFolder: copyEngine('toolless') }));
      assert.equal(error.code, 'ERR_QUALIFY_TOOL_MISSING');
      assert.match(error.message, /CMake/);
      assert.match(error.hint ?? '', /apt-get install cmake ninja-build g\+\+/);
    } finally {
      process.env.PATH = pathBefore;
    }
  });

  it('says when a folder is no engine', async () => {
    const error = await refusal(buildEngine({ sourceFolder: folder }));
    assert.equal(error.code, 'ERR_QUALIFY_NO_ENGINE_SOURCES');
  });
});

/** Living `sleep 86399` processes: the stalled step of the aborted build. */
function sleepers(): number[] {
  return processIds().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep\u000086399');
    } catch {
      return false;
    }
  });
}

it('keeps the flags of the user out of a build', () => {
  const environment = recipeEnvironment({
    PATH: '/bin',
    CXXFLAGS: '-O0',
    CMAKE_GENERATOR: 'x',
    LC_ALL: 'fr',
  });
  assert.deepEqual(environment, { PATH: '/bin', LC_ALL: 'C' });
});

it('reads the progress of Ninja and of make', () => {
  assert.deepEqual(parseProgress('[12/80] Building CXX object'), { done: 12, total: 80 });
  assert.deepEqual(parseProgress('[ 15%] Building CXX object'), { done: 15, total: 100 });
  assert.equal(parseProgress('-- Configuring done'), undefined);
  assert.equal(parseProgress('[0/2] Re-checking globbed directories...'), undefined);
  assert.equal(parseProgress('[0/1] Re-running CMake...'), undefined);
});

it('changes the digest of the sources with a name, a byte or a link, and with nothing else', async () => {
  const source = copyEngine('digest');
  const digest = await sourceTreeDigest(source);
  writeFileSync(join(source, 'README'), 'beside the sources');
  for (const folder of ['native/test', 'kernels/test']) {
    mkdirSync(join(source, folder));
    writeFileSync(join(source, folder, 'a_test.cpp'), 'the recipe does not build tests');
  }
  assert.equal(await sourceTreeDigest(source), digest);
  writeFileSync(join(source, 'native/extra.cpp'), '');
  const extra = await sourceTreeDigest(source);
  assert.notEqual(extra, digest);
  rmSync(join(source, 'native/extra.cpp'));
  assert.equal(await sourceTreeDigest(source), digest);
});
