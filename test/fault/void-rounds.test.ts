/** Sessions during which others used the machine, through the real CLI: the round is measured again, and that can be interrupted too. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { standingEntries, voidRounds } from '../../src/analysis/lost-launches.js';
import type { Entry } from '../../src/journal/entries.js';
import { parseCutJournal } from '../../src/journal/read.js';
import { nothingRunsOf } from '../support/eventually.js';
import { type Home, newHome } from '../support/run-cli.js';
import { borne } from '../support/small-matrix.js';

const preload = (fixture: string): string =>
  `--import=${new URL(`../fixtures/${fixture}.js`, import.meta.url).href}`;
const preloaded = preload('swap');
const swapIn = (launches: string) => ({ environment: { NODE_OPTIONS: preloaded, SWAP_IN: launches } });

/** Only what the test plants voids a launch. */
const invalidation = { ...borne, swapIns: 1024 };

const entriesOf = (home: Home): Entry[] => {
  const path = home.path('run', 'journal.jsonl');
  return existsSync(path) ? parseCutJournal(readFileSync(path), path).entries : [];
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
  await nothingRunsOf(home);
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

for (const [when, lines, names] of [
  ['right after it was void', '0', ['r00-0.2', 'r00-1.2']],
  // The repetition has begun: its launch, its engine that is ready.
  ['in its first launch', '2', ['r00-0.3', 'r00-1.2']],
] as const)
  test(`a round that is measured again goes on when it was killed ${when}`, async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { looks: [1], invalidation });
    const environment = {
      ...{ NODE_OPTIONS: `${preloaded} ${preload('signal-at-entry')}`, SWAP_IN: '1' },
      SIGNAL_AT: `SIGKILL void 1 ${lines}`,
    };
    const killed = await home.start(['run', matrix, '--out', 'run'], { environment }).finished;
    assert.equal(killed.signal, 'SIGKILL', killed.stderr);
    const entries = entriesOf(home);
    const behind = entries.slice(entries.findIndex(({ kind }) => kind === 'void') + 1);
    assert.deepEqual(
      behind.map(({ kind }) => kind),
      ['launch', 'ready'].slice(0, Number(lines)),
    );
    const resumed = await home.start(['resume', 'run'], swapIn('')).finished;
    assert.ok([11, 14].includes(resumed.exitCode ?? 0), resumed.stderr);
    assert.deepEqual(launchesOf(standingEntries(entriesOf(home))), names);
    const { reasons, warnings } = codesOf(home);
    assert.ok(!reasons.includes('swapping') && !reasons.includes('launches-lost'), reasons.join(' '));
    assert.ok(warnings.includes('round-repeated') && warnings.includes('resumed'), warnings.join(' '));
    await verified(home);
  });
