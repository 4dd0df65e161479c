/** Sessions with a void round, as they are and as a signer would like them to be who measures until the numbers please. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Entry } from '../../../src/journal/entries.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { verdictSchema } from '../../../src/verdict/schema.js';
import { first, refuses } from '../../fixtures/lies.js';
import { continued, repeated, resumeEntry } from '../../fixtures/resumed-run.js';
import { type RunOptions, writeRun } from '../../fixtures/run-folder.js';
import { behind, launchesOfRound, SWAPPED, voidEntry, withSwapIns } from '../../fixtures/void-round.js';
import { scratchFolder } from '../../support/folder.js';

/** Others swapped in the first launch of the first round. */
const swapped = (): RunOptions => ({
  rounds: 2,
  alter: first('load', (load) => {
    load.swapIns = SWAPPED;
  }),
});

/** The round once more, in silence, as attempt `at`. */
function repetition(entries: readonly Entry[], run: string, round = 0, at = 2): Entry[] {
  return launchesOfRound(entries, round).flatMap((launch) => {
    const name = `${launch}.${at}`;
    return withSwapIns(repeated(run, entries, launch, name), name, 0);
  });
}

/** What stands behind the first round, instead of nothing. */
const after = (others: (entries: Entry[], run: string) => Entry[], round = 0) =>
  continued((entries, run) =>
    behind(entries, launchesOfRound(entries, round).at(-1) ?? '', others(entries, run)),
  );

const repeatedWhole = after((entries, run) => [voidEntry(0), ...repetition(entries, run)]);

const standsUp: Record<string, (run: string) => Promise<void>> = {
  'as the session writes it': repeatedWhole,
  'when the session was killed before it said so': after((entries, run) => [
    resumeEntry(null),
    voidEntry(0),
    ...repetition(entries, run),
  ]),
  'when the session was killed between that and the next launch': after((entries, run) => [
    voidEntry(0),
    resumeEntry(null),
    ...repetition(entries, run),
  ]),
  'when the session was killed in the repetition': after((entries, run) => {
    const [one = '', two = ''] = launchesOfRound(entries, 0);
    const repeat = (launch: string, name: string) =>
      withSwapIns(repeated(run, entries, launch, name), name, 0);
    return [
      voidEntry(0),
      ...repeat(one, `${one}.2`).slice(0, 4),
      resumeEntry(`${one}.2`),
      ...repeat(one, `${one}.3`),
      ...repeat(two, `${two}.2`),
    ];
  }),
};

for (const [when, change] of Object.entries(standsUp))
  test(`a void round stands up ${when}`, async (context) => {
    const folder = await scratchFolder(context);
    const run = join(folder, 'run');
    await writeRun(run, swapped());
    await change(run);
    await seal(run, await generateKey('signer', join(folder, 'signer')));
    await verifyRun(run, { keyFolder: join(folder, 'keys') });
    const verdict = verdictSchema.parse(JSON.parse(readFileSync(join(run, 'verdict.json'), 'utf8')));
    assert.deepEqual(
      verdict.reasons.map(({ code }) => code),
      ['too-few-rounds'],
    );
    assert.match(
      verdict.warnings.find(({ code }) => code === 'round-repeated')?.message ?? '',
      /^round 1 was measured again: 5000 pages came back from swap in r0-0-\w+; that is 1 of 2 rounds/,
    );
    assert.match(readFileSync(join(run, 'report.md'), 'utf8'), /round 1 was measured again/);
  });

test('a round that was fine is void', (context) =>
  refuses(context, 'journal.jsonl', /voids round 0 for swapping; by the rule it stands/, {
    rounds: 2,
    change: repeatedWhole,
  }));

test('a round is void for what it was not', (context) =>
  refuses(context, 'journal.jsonl', /voids round 0 for throttled; by the rule it is void for swapping/, {
    ...swapped(),
    change: after((entries, run) => [voidEntry(0, ['throttled']), ...repetition(entries, run)]),
  }));

test('a void round counts, and the session goes on', (context) =>
  refuses(context, 'journal.jsonl', /goes on after round 0, but it is void for swapping/, {
    ...swapped(),
    change: continued((entries) => entries),
  }));

test('the last round is void and counts: the look follows at once', (context) =>
  refuses(context, 'journal.jsonl', /goes on after round 0, but it is void for swapping/, {
    ...swapped(),
    rounds: 1,
    change: continued((entries) => entries),
  }));

test('a round is void by what its look showed', (context) =>
  refuses(context, 'journal.jsonl', /goes on after round 0, but it is void for swapping/, {
    ...swapped(),
    rounds: 1,
    change: continued((entries, run) => {
      const look = entries.findIndex(({ kind }) => kind === 'look');
      return [
        ...entries.slice(0, look + 1),
        voidEntry(0),
        ...repetition(entries, run),
        ...entries.slice(look),
      ];
    }),
  }));

test('a round is void a second time, which is once too often', (context) =>
  refuses(context, 'journal.jsonl', /voids round 0 for swapping; by the rule it stands/, {
    ...swapped(),
    change: after((entries, run) => {
      const [launch = ''] = launchesOfRound(entries, 0);
      return [
        voidEntry(0),
        ...withSwapIns(repetition(entries, run), `${launch}.2`, SWAPPED),
        voidEntry(0),
        ...repetition(entries, run, 0, 3),
      ];
    }),
  }));

test('a round that has not ended is void, or one that ended before', async (context) => {
  const lie = (change: (run: string) => Promise<void>) =>
    refuses(context, 'journal.jsonl', /voids round 0, which has not just ended/, { ...swapped(), change });
  await lie(continued((entries) => behind(entries, launchesOfRound(entries, 0)[0] ?? '', [voidEntry(0)])));
  await lie(after((entries, run) => [voidEntry(0), ...repetition(entries, run)], 1));
});

test('half of a void round is repeated', (context) =>
  refuses(context, 'journal.jsonl', /launches \w+ at place 0 of round 1, which is not next in the plan/, {
    ...swapped(),
    change: after((entries, run) => {
      const [launch = ''] = launchesOfRound(entries, 0);
      return [
        voidEntry(0),
        ...repetition(entries, run).filter((entry) => 'launch' in entry && entry.launch === `${launch}.2`),
      ];
    }),
  }));

test('a repetition is called as if it were another', (context) =>
  refuses(context, 'journal.jsonl', /repeats r0-0-\w+ and so is called r0-0-\w+\.2/, {
    ...swapped(),
    change: after((entries, run) => [voidEntry(0), ...repetition(entries, run, 0, 3)]),
  }));

test('a plan that repeats no round has a void one', (context) =>
  refuses(context, 'journal.jsonl', /voids round 0 for swapping; by the rule it stands/, {
    ...swapped(),
    alterPlan: ({ decision }) => {
      delete decision.voidShare;
    },
    change: repeatedWhole,
  }));
