/** `qualify compare RUN_A RUN_B` on run folders that the real CLI made. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { Home } from '../support/run-cli.js';

async function twoRuns(t: TestContext): Promise<Home> {
  const home = new Home();
  t.after(() => home.remove());
  const run = async (us: string, out: string): Promise<void> => {
    const switches = { FAKE_US_PER_TOKEN: us };
    const matrix = home.fakeMatrix({ base: switches, head: switches }, { looks: [1] });
    await home.run('run', matrix, '--out', out);
  };
  await run('50', 'one');
  await run('500', 'two');
  return home;
}

describe('qualify compare of two run folders', () => {
  test('says directions and conditions, no amount, and exits 14', async (t) => {
    const home = await twoRuns(t);
    const text = await home.run('compare', 'one', 'two');
    assert.equal(text.exitCode, 14, text.stderr);
    assert.match(text.stdout, /^unmatched: /);
    assert.match(text.stdout, /64\/32\n +base +lower in the second session \(unmatched\)/);
    assert.match(text.stdout, /environment\.FAKE_US_PER_TOKEN\).*\n +first +50\n +second +500/);
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

  test('refuses what makes no sense with exit code 64', async (t) => {
    const home = await twoRuns(t);
    for (const [words, said] of [
      [['one', 'one'], /Both folders are of session/],
      [['one', 'HEAD'], /one is a run folder and HEAD is not one/],
      [['one', 'two', 'one'], /3 run folders at once/],
      [['one', 'two', '--rounds', '2'], /--rounds is about a session/],
      [['one', 'two', '--matrix', 'smoke'], /--matrix is about a session/],
    ] as const) {
      const result = await home.run('compare', ...words);
      assert.equal(result.exitCode, 64, result.stderr);
      assert.match(result.stderr, said);
    }
  });
});
