/** Sessions during which others used the machine, through the real CLI: the round is measured again, and that can be interrupted too. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { standingEntries, voidRounds } from '../../src/analysis/lost-launches.js';
import type { Entry } from '../../src/journal/entries.js';
import { readCutJournal } from '../../src/journal/read.js';
import { processesWithVariable } from '../../src/machine/procfs.js';
import { Home } from '../support/run-cli.js';

const PATIENCE_MS = 60_000;
const preloaded = `--import=${new URL('../fixtures/swap.js', import.meta.url).href}`;
const swapIn = (launches: string) => ({ environment: { NODE_OPTIONS: preloaded, SWAP_IN: launches } });

/** Only what the test plants voids a launch: the machine may be busy for other reasons. */
const invalidation = { majorFaults: 1_000_000, memoryPressure: 1, throttles: 1_000_000, clockShare: 1 };

function newHome(t: TestContext): Home {
  const home = new Home();
  t.after(() => home.remove());
  return home;
}

async function eventually(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!holds() && performance.now() < deadline) await sleep(5);
}

const entriesOf = (home: Home): Entry[] => {
  const path = home.path('run', 'journal.jsonl');
  return existsSync(path) ? readCutJournal(path).entries : [];
};

const launchesOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) => (entry.kind === 'launch' ? [entry.launch.replace(/-(base|head)/, '')] : []));

const codesOf = (home: Home): { reasons: string[]; warnings: string[] } => {
  const { reasons, warnings } = home.verdict();
  return { reasons: reasons.map(({ code }) => code), warnings: warnings.map(({ code }) => code) };
};

async function verified(home: Home): Promise<void> {
  const result = await home.run('verify', 'run');
  assert.equal(result.exitCode, 0, result.stderr);
  // The guards of what was killed remove for 1.6 s what others may still write, and then end.
  await eventually(() => processesWithVariable(home.mark).length === 0);
  assert.deepEqual(processesWithVariable(home.mark), []);
  assert.deepEqual(readdirSync(home.path('tmp')), []);
}

test('a round during which others swapped is measured again, and counts', async (t) => {
  const home = newHome(t);
  const matrix = home.fakeMatrix({}, { looks: [2], invalidation });
  const result = await home.start(['run', matrix, '--out', 'run'], swapIn('3')).finished;
  assert.match(
    result.stderr,
    /round 2 is measured again, all its arms: 5000 pages came back from swap in r01-0-\w+/,
  );
  const entries = entriesOf(home);
  assert.deepEqual(launchesOf(entries), ['r00-0', 'r00-1', 'r01-0', 'r01-1', 'r01-0.2', 'r01-1.2']);
  assert.deepEqual(launchesOf(standingEntries(entries)), ['r00-0', 'r00-1', 'r01-0.2', 'r01-1.2']);
  assert.deepEqual(
    voidRounds(entries).map(({ round, codes }) => [round, codes]),
    [[1, ['swapping']]],
  );
  const { reasons, warnings } = codesOf(home);
  assert.ok(!reasons.includes('swapping') && !reasons.includes('rounds-void'), reasons.join(' '));
  assert.ok(warnings.includes('round-repeated'), warnings.join(' '));
  assert.match(result.stdout.replaceAll(/\s+/g, ' '), /round 2 was measured again: 5000 pages/);
  await verified(home);
});

test('a machine that is not left alone contaminates: 14', async (t) => {
  const home = newHome(t);
  const matrix = home.fakeMatrix({}, { looks: [1], invalidation });
  const result = await home.start(['run', matrix, '--out', 'run'], swapIn('2,3')).finished;
  assert.equal(result.exitCode, 14, result.stderr);
  assert.deepEqual(launchesOf(entriesOf(home)), ['r00-0', 'r00-1', 'r00-0.2', 'r00-1.2']);
  const { reasons } = codesOf(home);
  assert.ok(reasons.includes('swapping') && reasons.includes('rounds-void'), reasons.join(' '));
  await verified(home);
});

for (const [when, lines] of [
  ['right after it was void', 0],
  ['in its first launch', 4],
] as const)
  test(`a round that is measured again goes on when it was killed ${when}`, async (t) => {
    const home = newHome(t);
    const slow = { FAKE_US_PER_TOKEN: '2000' };
    const matrix = home.fakeMatrix({ base: slow, head: slow }, { looks: [1], invalidation });
    const { child, finished } = home.start(['run', matrix, '--out', 'run'], swapIn('1'));
    const isThere = (): boolean => {
      const entries = entriesOf(home);
      const at = entries.findIndex(({ kind }) => kind === 'void');
      return at >= 0 && entries.length > at + lines;
    };
    await eventually(() => isThere() || child.exitCode !== null);
    child.kill('SIGKILL');
    await finished;
    assert.ok(isThere(), 'the round is void');
    assert.ok(!entriesOf(home).some(({ kind }) => kind === 'end'), 'the kill came before the end');
    const resumed = await home.start(['resume', 'run']).finished;
    assert.ok([11, 14].includes(resumed.exitCode ?? 0), resumed.stderr);
    const standing = launchesOf(standingEntries(entriesOf(home)));
    assert.match(standing.join(' '), /^r00-0\.[23] r00-1\.[23]$/);
    const { reasons, warnings } = codesOf(home);
    assert.ok(!reasons.includes('swapping') && !reasons.includes('launches-lost'), reasons.join(' '));
    assert.ok(warnings.includes('round-repeated') && warnings.includes('resumed'), warnings.join(' '));
    await verified(home);
  });
