/** Sessions that were resumed, as they are and as a signer would like them to be who measures until the numbers please. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Entry, EntryOf } from '../../../src/journal/entries.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { launchName } from '../../../src/plan/launch-name.js';
import { type Verdict, verdictSchema } from '../../../src/verdict/schema.js';
import { serializeVerdict } from '../../../src/verdict/serialize.js';
import { refuses, rewrite } from '../../fixtures/lies.js';
import {
  continued,
  endEntry,
  entriesOfLaunch,
  failureEntry,
  firstLaunch,
  inPlaceOf,
  removeFiles,
  repeated,
  resumeEntry,
  writeLog,
} from '../../fixtures/resumed-run.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

/** How much of a launch the session saw before it was killed. */
const CUT = 4;

/** A session that was killed in its first launch, and resumed; `changes` are what a liar makes of it. */
const resumed = (changes: Partial<EntryOf<'resume'>> = {}, name?: string) =>
  continued((entries, run) => {
    const lost = firstLaunch(entries);
    return inPlaceOf(entries, lost, [
      ...entriesOfLaunch(entries, lost).slice(0, CUT),
      resumeEntry(lost, changes),
      ...repeated(run, entries, lost, name ?? `${lost}.2`),
    ]);
  });

async function verified(
  context: TestContext,
  change: (run: string) => Promise<void>,
  rounds = 1,
): Promise<Verdict> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  await writeRun(run, { rounds });
  await change(run);
  await seal(run, await generateKey('signer', join(folder, 'signer')));
  await verifyRun(run, { keyFolder: join(folder, 'keys') });
  return verdictSchema.parse(JSON.parse(readFileSync(join(run, 'verdict.json'), 'utf8')));
}

const warningOf = (verdict: Verdict, code: string): string =>
  verdict.warnings.find((warning) => warning.code === code)?.message ?? '';

describe('a session that was resumed', () => {
  test('stands up, and its verdict names the launch that was lost', async (context) => {
    const verdict = await verified(context, resumed());
    assert.match(warningOf(verdict, 'resumed'), /resumed once; lost .*: r0-0-\w+ \(killed\)/);
    assert.deepEqual(
      verdict.reasons.map(({ code }) => code),
      ['too-few-rounds'],
    );
  });

  test('stands up when its launch was not ready, and left a log', async (context) => {
    const verdict = await verified(
      context,
      continued((entries, run) => {
        const launch = firstLaunch(entries);
        const name = nameOf(entries, launch);
        writeLog(run, name);
        const others = repeated(run, entries, launch, `${name}.2`);
        removeFiles(run, launch);
        return inPlaceOf(entries, launch, [resumeEntry(name), ...others]);
      }),
    );
    assert.match(warningOf(verdict, 'resumed'), /r00-0-\w+ \(killed\)/);
  });

  test('stands up after a failure, an end and a line that was cut off', async (context) => {
    const verdict = await verified(
      context,
      continued((entries, run) => {
        const lost = firstLaunch(entries);
        return inPlaceOf(entries, lost, [
          ...entriesOfLaunch(entries, lost).slice(0, CUT),
          failureEntry(lost, 'ERR_QUALIFY_ENGINE_DIED'),
          ...entriesOfLaunch(entries, lost).slice(-1),
          endEntry(false),
          resumeEntry(lost, { droppedBytes: 3, droppedSha256: 'a'.repeat(64) }),
          ...repeated(run, entries, lost, `${lost}.2`),
        ]);
      }),
    );
    assert.match(warningOf(verdict, 'resumed'), /r0-0-\w+ \(ERR_QUALIFY_ENGINE_DIED\)/);
    assert.equal(verdict.exitCode, 11);
  });

  test('stands up when it was killed before a look, which then follows', async (context) => {
    await verified(
      context,
      continued((entries) => {
        const at = entries.findIndex((entry) => entry.kind === 'look');
        return [...entries.slice(0, at), resumeEntry(null), ...entries.slice(at)];
      }),
    );
  });

  test('is contaminated when more than one of few launches was lost', async (context) => {
    const verdict = await verified(
      context,
      continued((entries, run) => {
        const lost = firstLaunch(entries);
        const again = repeated(run, entries, lost, `${lost}.2`);
        return inPlaceOf(entries, lost, [
          ...entriesOfLaunch(entries, lost).slice(0, CUT),
          resumeEntry(lost),
          ...again.slice(0, CUT),
          resumeEntry(`${lost}.2`),
          ...repeated(run, entries, lost, `${lost}.3`),
        ]);
      }),
    );
    assert.equal(verdict.result, 'contaminated');
    assert.equal(verdict.exitCode, 14);
    assert.match(
      verdict.reasons[0]?.message ?? '',
      /2 launches were lost to interruptions, of 2 at most 1 may be: r0-0-\w+ \(killed\), r0-0-\w+\.2 \(killed\)/,
    );
    assert.deepEqual(verdict.cells[0]?.arms, {}, 'no rate is shown');
  });
});

const nameOf = (entries: readonly Entry[], launch: string): string => {
  const entry = entries.find((candidate) => candidate.kind === 'launch' && candidate.launch === launch);
  if (entry?.kind !== 'launch') throw new Error(`There is no launch ${launch}.`);
  return launchName(entry);
};

describe('a signer who measures until it pleases', () => {
  test('says of a whole launch that it was lost', (context) =>
    refuses(context, 'journal.jsonl', /says that r0-0-\w+ was lost, but no launch was under way/, {
      change: continued((entries, run) => {
        const lost = firstLaunch(entries);
        return inPlaceOf(entries, lost, [
          ...entriesOfLaunch(entries, lost),
          resumeEntry(lost),
          ...repeated(run, entries, lost, `${lost}.2`),
        ]);
      }),
    }));

  test('says that nothing was lost, or another launch', async (context) => {
    const why = /says that (no launch|r09-0-base) was lost, but r0-0-\w+ was under way/;
    await refuses(context, 'journal.jsonl', why, { change: resumed({ lost: null }) });
    await refuses(context, 'journal.jsonl', why, { change: resumed({ lost: 'r09-0-base' }) });
  });

  test('repeats a launch without a word', (context) =>
    refuses(context, 'journal.jsonl', /launches \w+ at place 0 of round 0, which is not next in the plan/, {
      change: continued((entries, run) => {
        const lost = firstLaunch(entries);
        return inPlaceOf(entries, lost, [
          ...entriesOfLaunch(entries, lost),
          ...repeated(run, entries, lost, `${lost}.2`),
        ]);
      }),
    }));

  test('counts a repetition as another', (context) =>
    refuses(context, 'journal.jsonl', /repeats r0-0-\w+ and so is called r0-0-\w+\.2/, {
      change: continued((entries, run) => {
        const lost = firstLaunch(entries);
        return inPlaceOf(entries, lost, [
          ...entriesOfLaunch(entries, lost).slice(0, CUT),
          resumeEntry(lost),
          ...repeated(run, entries, lost, `${lost}.3`),
        ]);
      }),
    }));

  test('names a launch that was lost before it was ready, of which there is no trace', (context) =>
    refuses(context, 'journal.jsonl', /says that r00-0-\w+ was lost, of which there is no evidence/, {
      change: continued((entries, run) => {
        const launch = firstLaunch(entries);
        const name = nameOf(entries, launch);
        const others = repeated(run, entries, launch, `${name}.2`);
        return inPlaceOf(entries, launch, [resumeEntry(name), ...others]);
      }),
    }));

  test('goes on elsewhere: another machine, another version of qualify', async (context) => {
    await refuses(context, 'journal.jsonl', /resumes the session on another machine/, {
      change: resumed({ machineId: 'a'.repeat(64) }),
    });
    await refuses(context, 'journal.jsonl', /resumes by qualify 9\.9\.9 what 0\.1\.0 began/, {
      change: resumed({ harness: { version: '9.9.9', node: '20.20.2' } }),
    });
  });

  test('drops bytes without saying which', (context) =>
    refuses(context, 'journal.jsonl', /drops 7 bytes with the SHA-256 null/, {
      change: resumed({ droppedBytes: 7 }),
    }));

  test('goes on after a binary changed', (context) =>
    refuses(context, 'journal.jsonl', /resumes the session after ERR_QUALIFY_BINARY_CHANGED/, {
      change: continued((entries) => [
        ...entries.slice(0, -1),
        failureEntry(null, 'ERR_QUALIFY_BINARY_CHANGED'),
        endEntry(false),
        resumeEntry(null),
        ...entries.slice(-1),
      ]),
    }));

  test('starts an engine a third time that failed twice', (context) =>
    refuses(context, 'journal.jsonl', /resumes the session after r0-0-\w+ and r0-0-\w+\.2 failed/, {
      change: continued((entries, run) => {
        const lost = firstLaunch(entries);
        const fails = (own: Entry[], name: string): Entry[] => [
          ...own.slice(0, CUT),
          failureEntry(name, 'ERR_QUALIFY_TIMEOUT'),
          ...own.slice(-1),
          endEntry(false),
          resumeEntry(name),
        ];
        return inPlaceOf(entries, lost, [
          ...fails(entriesOfLaunch(entries, lost), lost),
          ...fails(repeated(run, entries, lost, `${lost}.2`), `${lost}.2`),
          ...repeated(run, entries, lost, `${lost}.3`),
        ]);
      }),
    }));

  test('says thousands of times that it went on, which costs whoever verifies', async (context) => {
    const times = 4000;
    await refuses(context, 'journal.jsonl', /resumes the session once more than 1000 times/, {
      change: rewrite((entries) => {
        const at = entries.findIndex(({ kind }) => kind === 'launch');
        const name = nameOf(entries, firstLaunch(entries));
        const resumptions = Array.from({ length: times }, (_, index) =>
          resumeEntry(index === 0 ? name : `${name}.${index + 1}`),
        );
        return [...entries.slice(0, at), ...resumptions];
      }),
    });
  });

  test('skips the look after which the session was killed', (context) =>
    refuses(context, 'journal.jsonl', /after which the plan looks; the journal does not/, {
      change: continued((entries) => {
        const at = entries.findIndex((entry) => entry.kind === 'look');
        return [...entries.slice(0, at), resumeEntry(null), ...entries.slice(at + 1)];
      }),
    }));

  test('hides what was lost from the verdict', (context) =>
    refuses(context, 'verdict.json', /does not follow from plan and journal/, {
      change: async (run) => {
        await resumed()(run);
        const path = join(run, 'verdict.json');
        const verdict = verdictSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
        writeFileSync(path, serializeVerdict({ ...verdict, warnings: [] }));
      },
    }));
});
