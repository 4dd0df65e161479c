/** The null arm's build: the same sources compiled once more in another place, and somebody else's folder copied there. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import type { EntryOf } from '../../src/journal/entries.js';
import { EvidenceFolder } from '../../src/journal/evidence.js';
import { Journal } from '../../src/journal/journal.js';
import { replayBuilds } from '../../src/manifest/replay-builds.js';
import type { Plan } from '../../src/plan/schema.js';
import { buildEngine } from '../../src/revision/build-cache.js';
import { type ArmBuild, buildArms, resolveArms } from '../../src/session/arm-builds.js';
import { makePlan } from '../fixtures/journal.js';
import { refusal } from '../support/refusal.js';
import { Repository } from '../support/repository.js';
import { Home } from '../support/run-cli.js';

const cacheBefore = process.env.XDG_CACHE_HOME;
const home = new Home();
const builds = home.path('cache', 'qualify', 'builds');

/** Base, head and a null arm, of revisions of the embedded engine. */
function planOf(base: string, head: string): Plan {
  const plan = makePlan({ arms: { base: { revision: base }, head: { revision: head } } });
  const [reference] = plan.arms;
  assert.ok(reference);
  const others = plan.arms.filter(({ control }) => control === undefined);
  return { ...plan, arms: [...others, { ...reference, name: 'null', control: 'null' }] };
}

interface Made {
  entries: EntryOf<'build'>[];
  arms: Map<string, ArmBuild>;
  said: string[];
}

let sessions = 0;

async function made(
  t: TestContext,
  plan: Plan,
  repository: string,
  onSaid: (text: string) => void = () => {},
): Promise<Made> {
  sessions += 1;
  const folder = home.path(`run-${sessions}`);
  mkdirSync(folder);
  const journal = new Journal(join(folder, 'journal.jsonl'));
  t.after(() => journal.close());
  const said: string[] = [];
  const say = (text: string): void => {
    said.push(text);
    onSaid(text);
  };
  const progress = { update: say, note: say };
  const evidence = new EvidenceFolder(folder);
  const signal = new AbortController().signal;
  const context = { plan, journal, evidence, progress, signal };
  const arms = await buildArms(context, await resolveArms(plan, repository));
  const entries = journal.entries.filter((entry) => entry.kind === 'build');
  for (const { log } of entries) assert.ok(existsSync(join(folder, log.path)), log.path);
  return { entries, arms, said };
}

const tinyEngine = join(harnessFolder, 'test/fixtures/tiny-engine');

describe("the null arm's build", () => {
  before(() => {
    process.env.XDG_CACHE_HOME = home.path('cache');
  });
  after(() => {
    if (cacheBefore === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = cacheBefore;
    return home.remove();
  });

  test('is compiled from a copy of the sources at another path, to the same bytes', async () => {
    const here = await buildEngine({ sourceFolder: tinyEngine });
    const elsewhere = await buildEngine({ sourceFolder: tinyEngine, elsewhere: true });
    assert.equal(elsewhere.cached, false);
    assert.equal(elsewhere.buildDigest, here.buildDigest);
    assert.equal(elsewhere.folder, `${here.folder}.elsewhere`);
    assert.equal(elsewhere.binarySha256, here.binarySha256);
    const [places, others] = [here, elsewhere].map(({ logPath }) => {
      const [, source = '', build = ''] = /cmake -S (\S+) -B (\S+)/.exec(readFileSync(logPath, 'utf8')) ?? [];
      return [source, build];
    });
    for (const [at, place] of (places ?? []).entries()) {
      assert.notEqual(others?.[at], place);
      assert.notEqual(others?.[at]?.length, place.length);
    }
    const again = await buildEngine({ sourceFolder: tinyEngine, elsewhere: true });
    assert.deepEqual({ ...again, cached: false }, elsewhere);
    assert.equal(again.cached, true);
    assert.deepEqual(readdirSync(builds).sort(), [here.buildDigest, basename(elsewhere.folder)].sort());
  });

  test('differs where a binary holds the place it was built in', async () => {
    const source = home.path('talkative');
    cpSync(tinyEngine, source, { recursive: true });
    const lists = join(source, 'native/CMakeLists.txt');
    const place = `target_compile_definitions(engine PRIVATE PLACE="\${CMAKE_CURRENT_SOURCE_DIR}")\n`;
    writeFileSync(lists, readFileSync(lists, 'utf8') + place);
    writeFileSync(
      join(source, 'native/place.cpp'),
      'extern "C" __attribute__((visibility("default"))) const char* place() { return PLACE; }\n',
    );
    writeFileSync(lists, readFileSync(lists, 'utf8').replace('addon.cpp', 'addon.cpp place.cpp'));
    const here = await buildEngine({ sourceFolder: source });
    const elsewhere = await buildEngine({ sourceFolder: source, elsewhere: true });
    assert.equal(elsewhere.buildDigest, here.buildDigest);
    assert.notEqual(elsewhere.binarySha256, here.binarySha256);
  });

  test('has an entry of its own, and its arm runs it from there', async (t) => {
    const repository = new Repository(home.path('repository'));
    cpSync(tinyEngine, repository.folder, { recursive: true });
    const base = repository.commit('base');
    repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 44;\n');
    const head = repository.commit('head');
    const plan = planOf(base, head);
    const { entries, arms, said } = await made(t, plan, repository.folder);
    assert.deepEqual(
      entries.map(({ arms: names, elsewhere, revision }) => [names, elsewhere, revision.commit]),
      [
        [['base'], undefined, base],
        [['null'], true, base],
        [['head'], undefined, head],
      ],
    );
    assert.equal(entries[0]?.binarySha256, entries[1]?.binarySha256);
    assert.equal(arms.get('null')?.folder, `${arms.get('base')?.folder}.elsewhere`);
    assert.ok(said.includes(`build ${base} once more, elsewhere, for the null arm`), said.join('\n'));
    assert.deepEqual(readdirSync(home.path('cache', 'qualify', 'worktrees')), []);
    assert.deepEqual(
      readdirSync(builds).filter((name) => name.startsWith('.') || name.endsWith('.lock')),
      [],
    );
    replayBuilds(plan, entries);
  });

  test('is refused when the working tree changed after the ordinary build', async (t) => {
    const repository = new Repository(home.path('restless'));
    cpSync(tinyEngine, repository.folder, { recursive: true });
    const head = repository.commit('head');
    const edit = (text: string): void => {
      if (text.endsWith('for the null arm'))
        repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 45;\n');
    };
    const error = await refusal(made(t, planOf('worktree', head), repository.folder, edit));
    assert.equal(error.code, 'ERR_QUALIFY_TREE_CHANGED');
  });

  test('of a folder that somebody else built is a copy, made once and again when it is damaged', async (t) => {
    const folder = home.fakeBuild();
    writeFileSync(join(folder, 'library.so'), 'beside it');
    const plan = planOf(`prebuilt:${folder}`, `prebuilt:${home.fakeBuild('other')}`);
    const first = await made(t, plan, home.folder);
    const copy = first.arms.get('null')?.folder ?? '';
    assert.equal(first.arms.get('base')?.folder, folder);
    assert.notEqual(copy, folder);
    for (const name of ['serve', 'library.so'])
      assert.deepEqual(readFileSync(join(copy, name)), readFileSync(join(folder, name)));
    assert.equal(first.entries[0]?.binarySha256, first.entries[1]?.binarySha256);
    assert.deepEqual(
      first.entries.map(({ elsewhere }) => elsewhere),
      [undefined, true, undefined],
    );
    replayBuilds(plan, first.entries);
    writeFileSync(join(copy, 'library.so'), 'damaged');
    const second = await made(t, plan, home.folder);
    assert.equal(second.arms.get('null')?.folder, copy);
    assert.equal(readFileSync(join(copy, 'library.so'), 'utf8'), 'beside it');
    assert.deepEqual(readdirSync(dirname(dirname(copy))), [basename(dirname(copy))]);
  });
});
