/** `qualify history` by the real CLI, on run folders of many sessions. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { harnessFolder } from '../../src/harness.js';
import { takeFolderLock } from '../../src/machine/lock.js';
import { MANIFEST_FILE } from '../../src/manifest/evidence-index.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { writeRun } from '../fixtures/run-folder.js';
import { Home } from '../support/run-cli.js';

/** The machine of the fixture's runs. */
const MACHINE = sha256('machine');
const INDEX = '.qualify/history.jsonl';

/** A home with `count` runs, of which those from `slowFrom` on are slower by 10 %. */
async function withRuns(t: TestContext, count: number, slowFrom = count): Promise<Home> {
  const home = new Home();
  t.after(() => home.remove());
  const key = await generateKey('signer', home.path('signer'));
  for (let at = 0; at < count; at++) {
    const folder = home.path('.qualify', 'runs', `run-${String(at).padStart(2, '0')}`);
    await writeRun(folder, {
      nullRounds: 1,
      msPerToken: (at < slowFrom ? 1 : 1.1) * (1 + 0.001 * ((at * 7) % 5)),
      alterPlan: (plan) => {
        plan.session = `session-${String(at).padStart(2, '0')}`;
      },
      alter: (draft) =>
        draft.kind === 'session'
          ? { ...draft, startedAt: `2026-11-29T11:${String(at).padStart(2, '0')}:00Z` }
          : draft,
    });
    await seal(folder, key);
  }
  return home;
}

const history = async (home: Home, ...args: string[]) => {
  const result = await home.run('history', '--machine', MACHINE.slice(0, 8), ...args);
  assert.equal(result.exitCode, 0, result.stderr);
  return result;
};

describe('qualify history', () => {
  test('marks planted and simulated runs, in the table and in JSON', async (t) => {
    const home = await withRuns(t, 1);
    const archive = join(harnessFolder, 'manifests/planted-fail.tar');
    const unpacked = await home.run('unpack', archive, '--out', '.qualify/runs/planted');
    assert.equal(unpacked.exitCode, 0, unpacked.stderr);
    // One round passes nothing: what is looked at is the mark.
    await home.run('simulate', '--rounds', '1', '--out', '.qualify/runs/simulated');
    const { stdout } = await history(home, '--machine', 'all');
    assert.equal(stdout.match(/^ {2}PLANTED slowdown of 40 %: no qualification$/gm)?.length, 1, stdout);
    assert.equal(stdout.match(/^ {2}SIMULATED: nothing was measured$/gm)?.length, 1, stdout);
    const { runs } = JSON.parse((await history(home, '--machine', 'all', '--json')).stdout);
    const marks = runs.map(({ folder, simulated, plantedPercent }: Record<string, unknown>) => [
      folder,
      simulated,
      plantedPercent,
    ]);
    assert.deepEqual(marks.toSorted(), [
      ['.qualify/runs/planted', false, 40],
      ['.qualify/runs/run-00', false, null],
      ['.qualify/runs/simulated', true, null],
    ]);
  });

  test('tells of runs that verify, newest first, and what changed in the machine', async (t) => {
    const home = await withRuns(t, 20, 10);
    const { stdout } = await history(home, '--cell', '32/32');
    assert.match(stdout, /^never used for gating: rates of different sessions are not compared\n/);
    assert.ok(stdout.indexOf('session-19') < stdout.indexOf('session-00'));
    assert.match(stdout.replaceAll(/\s+/g, ' '), /base lower from session-10 on: .* 10 and 10 sessions/);
    assert.match(stdout.replaceAll(/\s+/g, ' '), /null lower from session-10 on/);
    assert.ok(stdout.split('\n').every((line) => line.length <= 80));

    const json = JSON.parse((await history(home, '--cell', '32/32', '--json')).stdout);
    assert.deepEqual([json.evidence, json.mayGate, json.runs.length], ['directional', false, 20]);
    assert.match(json.notice, /^never used for gating/);
    assert.equal(json.series[0].shifts.base[0].session, 'session-10');
    assert.deepEqual(json.runs[0].cells[0].null.n > 0, true);
  });

  test('keeps an index that can be deleted, and comes out the same', async (t) => {
    const home = await withRuns(t, 3);
    const first = await history(home);
    const index = readFileSync(home.path(INDEX), 'utf8');
    assert.equal(index.trimEnd().split('\n').length, 3);
    const { mtimeMs } = statSync(home.path(INDEX));
    assert.deepEqual((await history(home)).stdout, first.stdout);
    assert.equal(statSync(home.path(INDEX)).mtimeMs, mtimeMs, 'nothing was checked, so nothing is written');

    rmSync(home.path(INDEX));
    assert.deepEqual((await history(home)).stdout, first.stdout);
    assert.equal(readFileSync(home.path(INDEX), 'utf8'), index);

    appendFileSync(home.path(INDEX), '{"holds": true}\n');
    const mended = await history(home);
    assert.match(mended.stderr, /1 line of .* could not be read/);
    assert.equal(readFileSync(home.path(INDEX), 'utf8'), index);
    await history(home, '--rebuild');
    assert.equal(readFileSync(home.path(INDEX), 'utf8'), index);
  });

  test('takes from the index what did not change: a line that lies about what no verdict has is believed until --rebuild', async (t) => {
    const home = await withRuns(t, 1);
    await history(home);
    const index = readFileSync(home.path(INDEX), 'utf8');
    const lying = index.replace(/"kernel":"[^"]*"/, '"kernel":"another"');
    assert.notEqual(lying, index);
    writeFileSync(home.path(INDEX), lying);
    await history(home);
    assert.equal(readFileSync(home.path(INDEX), 'utf8'), lying);
    await history(home, '--rebuild');
    assert.equal(readFileSync(home.path(INDEX), 'utf8'), index);
  });

  for (const [from, to] of [
    [/"session":"session-00"/, '"session":"session-99"'],
    [/"result":"[a-z-]+"/, '"result":"contaminated"'],
    [/"required":true,"verdict":"[a-z-]+"/, '"required":true,"verdict":"contaminated"'],
  ] as const)
    test(`checks a run again whose line says ${to} and whose verdict does not`, async (t) => {
      const home = await withRuns(t, 1);
      await history(home);
      const index = readFileSync(home.path(INDEX), 'utf8');
      const lying = index.replace(from, to);
      assert.notEqual(lying, index);
      writeFileSync(home.path(INDEX), lying);
      const { stdout } = await history(home);
      assert.doesNotMatch(stdout, /session-99|contaminated/);
      assert.equal(readFileSync(home.path(INDEX), 'utf8'), index);
    });

  test('notices a run that changed after it was checked, and names it with the reason', async (t) => {
    const home = await withRuns(t, 2);
    await history(home);
    const file = home.path('.qualify', 'runs', 'run-00', 'journal.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"promptMs":', '"promptMs":1'));
    const { stdout } = await history(home);
    assert.match(
      stdout,
      /1 run does not verify and is left out:\n {2}\.qualify\/runs\/run-00\n {4}journal\.jsonl/,
    );
    assert.doesNotMatch(stdout, /session-00/);
    const json = JSON.parse((await history(home, '--json')).stdout);
    assert.deepEqual([json.runs.length, json.notVerified.length], [1, 1]);
  });

  test('looks again at a run that did not hold: what was in the way may be gone', async (t) => {
    const home = await withRuns(t, 2);
    const first = await history(home);
    // A file that comes and goes, and leaves the same sizes and times.
    const journal = home.path('.qualify', 'runs', 'run-00', 'journal.jsonl');
    const { atime, mtime } = statSync(journal);
    const bytes = readFileSync(journal);
    writeFileSync(journal, Buffer.from(bytes).fill(0x20, 10, 11));
    utimesSync(journal, atime, mtime);
    assert.match((await history(home, '--rebuild')).stdout, /1 run does not verify/);
    assert.equal(readFileSync(home.path(INDEX), 'utf8').trimEnd().split('\n').length, 1);
    writeFileSync(journal, bytes);
    utimesSync(journal, atime, mtime);
    assert.equal((await history(home)).stdout, first.stdout);
  });

  test("is not in the way of a broken file among the user's keys", async (t) => {
    const home = await withRuns(t, 1);
    const first = await history(home);
    mkdirSync(home.path('config', 'qualify', 'keys'), { recursive: true });
    writeFileSync(home.path('config', 'qualify', 'keys', 'bob.pub'), 'no key\n');
    const run = home.path('.qualify', 'runs', 'run-00');
    assert.notEqual((await home.run('verify', run)).exitCode, 0, 'it is where keys are read from');
    assert.equal((await history(home, '--rebuild')).stdout, first.stdout);
  });

  test('does not wait at a pipe in the place of a manifest', { timeout: 60_000 }, async (t) => {
    const home = await withRuns(t, 2);
    const manifest = home.path('.qualify', 'runs', 'run-00', MANIFEST_FILE);
    rmSync(manifest);
    execFileSync('mkfifo', [manifest]);
    const { stdout } = await history(home);
    assert.match(stdout, /1 run does not verify and is left out:/);
    assert.match(stdout, /session-01/);
  });

  test('names a run that did not come to its end', async (t) => {
    const home = await withRuns(t, 2);
    for (const file of [MANIFEST_FILE, 'verdict.json']) rmSync(home.path('.qualify', 'runs', 'run-01', file));
    const { stdout } = await history(home);
    assert.match(stdout.replaceAll(/\s+/g, ' '), /run-01 did not come to its end\. To go on: qualify resume/);
    assert.doesNotMatch(stdout, /not verify/);

    const lock = await takeFolderLock(home.path('.qualify', 'runs', 'run-01'), { what: 'it', wait: false });
    t.after(() => lock.release());
    assert.match((await history(home)).stdout, /^\.qualify\/runs\/run-01 is still running\.$/m);
    assert.deepEqual(JSON.parse((await history(home, '--json')).stdout).running, ['.qualify/runs/run-01']);
  });

  test('refuses a cell that no run has, naming those that there are', async (t) => {
    const home = await withRuns(t, 1);
    const typo = await home.run('history', '--machine', 'all', '--cell', '99/9');
    assert.deepEqual([typo.exitCode, typo.stdout], [64, '']);
    assert.match(typo.stderr, /no run.*"99\/9".*32\/32.*ERR_QUALIFY_CELL/is);
  });

  test('looks into more folders, once at a copy, and refuses a folder that is not there', async (t) => {
    const home = await withRuns(t, 2);
    cpSync(home.path('.qualify', 'runs', 'run-00'), home.path('copies', 'one'), { recursive: true });
    assert.match((await history(home, '--runs', 'copies')).stdout, /1 run twice, of which one is told/);
    const missing = await home.run('history', '--runs', 'nowhere');
    assert.deepEqual([missing.exitCode, missing.stdout], [64, '']);
    assert.match(missing.stderr, /there is no folder nowhere/);
  });

  test('tells of this machine unless told otherwise, and says how many runs are of others', async (t) => {
    const home = await withRuns(t, 2);
    const here = await home.run('history');
    assert.match(here.stdout, /No run to tell of\./);
    assert.match(here.stdout.replaceAll(/\s+/g, ' '), /2 runs of other machines \(--machine all\)/);
    const all = await home.run('history', '--machine', 'all');
    assert.match(all.stdout, /session-01/);
    assert.equal((await home.run('history', '--machine', 'here')).exitCode, 64);
  });

  test('has nothing to tell where nothing ran, and makes no index there', async (t) => {
    const home = new Home();
    t.after(() => home.remove());
    const result = await home.run('history');
    assert.deepEqual([result.exitCode, result.stderr], [0, '']);
    assert.match(result.stdout, /No run to tell of/);
    assert.throws(() => statSync(home.path('.qualify')));
  });
});
