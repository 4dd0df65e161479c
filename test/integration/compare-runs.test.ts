/** `qualify compare RUN_A RUN_B` by the real CLI, on run folders of two sessions. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { writeRun } from '../fixtures/run-folder.js';
import { Home } from '../support/run-cli.js';

/** Two runs in a home: the second of another session, and ten times as slow. */
async function twoRuns(t: TestContext): Promise<Home> {
  const home = new Home();
  t.after(() => home.remove());
  const key = await generateKey('signer', home.path('signer'));
  await writeRun(home.path('one'));
  await writeRun(home.path('two'), {
    msPerToken: 10,
    alterPlan: (plan) => {
      plan.session = 'fixture-2';
    },
    alter: (draft) =>
      draft.kind === 'conditions'
        ? { ...draft, fields: { ...draft.fields, 'kernel.release': '6.9.0' } }
        : draft,
  });
  for (const run of ['one', 'two']) await seal(home.path(run), key);
  return home;
}

describe('qualify compare of two runs', () => {
  test('says directions and conditions, no amount, and exits 14', async (t) => {
    const home = await twoRuns(t);
    const text = await home.run('compare', 'one', 'two');
    assert.equal(text.exitCode, 14, text.stderr);
    assert.match(text.stdout, /^unmatched: /);
    assert.match(text.stdout, /32\/32\n +base +lower in the second session \(unmatched\)/);
    assert.match(text.stdout, /kernel release \(kernel\.release\).*\n +first +6\.1\.0\n +second +6\.9\.0/);
    assert.doesNotMatch(text.stdout, /%|tok\/s/);
    assert.ok(text.stdout.split('\n').every((line) => line.length <= 80));

    const json = await home.run('compare', 'two', 'one', '--json');
    assert.equal(json.exitCode, 14, json.stderr);
    const across = JSON.parse(json.stdout);
    assert.deepEqual([across.result, across.evidence], ['unmatched', 'directional']);
    assert.deepEqual(
      across.cells[0].arms.map(({ direction }: { direction: string }) => direction),
      ['higher', 'higher'],
    );
    assert.doesNotMatch(json.stdout, /percent|ratio|median|\bmad\b|tok\/s/i);
    assert.deepEqual(json.stdout.match(/: -?\d[^"]*?$/gm), [': 1,'], 'the one number is the version');
  });

  test('refuses a run that does not hold with exit code 16, and names it', async (t) => {
    const home = await twoRuns(t);
    const file = home.path('two', 'verdict.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"median": ', '"median": 1'));
    const result = await home.run('compare', 'one', 'two');
    assert.equal(result.exitCode, 16, result.stdout);
    assert.match(result.stderr, /two does not hold: verdict\.json/);
    assert.equal(result.stdout, '');
  });

  test('takes the names of sessions, as verify and report do', async (t) => {
    const home = await twoRuns(t);
    mkdirSync(home.path('.qualify', 'runs'), { recursive: true });
    for (const run of ['one', 'two']) renameSync(home.path(run), home.path('.qualify', 'runs', run));
    const compared = await home.run('compare', 'one', 'two');
    assert.equal(compared.exitCode, 14, compared.stderr);
    assert.match(compared.stdout, /in \.qualify\/runs\/two/);
    for (const command of ['verify', 'report']) {
      const result = await home.run(command, 'one');
      assert.equal(result.exitCode, 0, result.stderr);
    }
    const nowhere = await home.run('verify', 'three');
    assert.equal(nowhere.exitCode, 64);
    assert.match(nowhere.stderr, /there is no run folder three/);
  });

  test('takes archives, beside folders too, and leaves nothing of them behind', async (t) => {
    const home = await twoRuns(t);
    const packed = await home.run('pack', 'two', '--out', 'two.tar');
    assert.equal(packed.exitCode, 0, packed.stderr);
    const folders = await home.run('compare', 'one', 'two', '--json');
    const mixed = await home.run('compare', 'one', 'two.tar', '--json');
    assert.equal(mixed.exitCode, 14, mixed.stderr);
    assert.equal(mixed.stdout, folders.stdout);
    assert.match((await home.run('compare', 'one', 'two.tar')).stdout, /in two\.tar/);
    assert.deepEqual(readdirSync(home.path('tmp')), []);
    assert.match((await home.run('compare', 'two', 'two.tar')).stderr, /Both are of session fixture-2/);
    assert.match(
      (await home.run('compare', 'two.tar', 'HEAD')).stderr,
      /two\.tar is a run and HEAD is not one/,
    );

    const bytes = readFileSync(home.path('two.tar'));
    const at = bytes.indexOf('"result": "');
    assert.ok(at > 0);
    bytes.write('"resulT": "', at);
    writeFileSync(home.path('two.tar'), bytes);
    const changed = await home.run('compare', 'one', 'two.tar');
    assert.equal(changed.exitCode, 16, changed.stdout);
    assert.match(changed.stderr, /two\.tar does not hold: verdict\.json/);
    assert.equal(changed.stdout, '');
    assert.deepEqual(readdirSync(home.path('tmp')), []);
  });

  test('names a run that is not finished once, and how to go on with it', async (t) => {
    const home = await twoRuns(t);
    for (const name of ['qualification.intoto.jsonl', 'verdict.json']) rmSync(home.path('two', name));
    const result = await home.run('compare', 'one', 'two');
    assert.equal(result.exitCode, 16, result.stderr);
    assert.match(result.stderr, /qualify: two is not finished/);
    assert.match(result.stderr, /next: .*qualify resume two/);
  });

  test('refuses what makes no sense with exit code 64', async (t) => {
    const home = await twoRuns(t);
    for (const [words, said] of [
      [['one', 'one'], /Both are of session/],
      [['one', 'HEAD'], /one is a run and HEAD is not one/],
      [['one', 'two', 'one'], /3 runs at once/],
      [['one', 'two', '--rounds', '2'], /--rounds is about a session/],
      [['one', 'two', '--matrix', 'smoke'], /--matrix is about a session/],
    ] as const) {
      const result = await home.run('compare', ...words);
      assert.equal(result.exitCode, 64, result.stderr);
      assert.match(result.stderr, said);
    }
  });
});
