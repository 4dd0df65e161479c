/** What an interruption left of a session: what counts is verified, and everything else is named and refused. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { earlierRun, namingRun, type Wanted } from '../../../src/bisect/earlier-run.js';
import { QualifyError } from '../../../src/errors.js';
import { fingerprint } from '../../../src/machine/fingerprint.js';
import { generateKey, loadOrCreateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { continued, endEntry, failureEntry } from '../../fixtures/resumed-run.js';
import {
  BASE_COMMIT,
  fixtureMatrix,
  HEAD_COMMIT,
  type RunOptions,
  writeRun,
} from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';
import { scratchRoot } from '../../support/scratch-root.js';

const home = process.env.XDG_CONFIG_HOME;
const revisions = { base: BASE_COMMIT, head: HEAD_COMMIT };
const options: RunOptions = { revisions, machine: { id: fingerprint().id } };
const wanted: Wanted = { matrix: fixtureMatrix(options), cell: '32/32', rounds: undefined };

describe('an earlier run of a bisection', () => {
  let keys = '';
  before(async () => {
    keys = await mkdtemp(join(scratchRoot, 'qualify-test-'));
    process.env.XDG_CONFIG_HOME = keys;
    await loadOrCreateKey();
  });
  after(async () => {
    await rm(keys, { recursive: true, force: true });
    if (home === undefined) delete process.env.XDG_CONFIG_HOME;
    else process.env.XDG_CONFIG_HOME = home;
  });

  test('that is no folder is named', async (t) => {
    const run = join(await scratchFolder(t), '01-cccccccccccc');
    writeFileSync(run, 'a file');
    await assert.rejects(earlierRun(run, wanted), refused('ERR_QUALIFY_INVALID', /it is no folder/));
  });

  /** A run, changed before it is sealed, if it is. */
  async function made(
    t: TestContext,
    {
      change,
      sealed = true,
      run: own = options,
    }: { change?: Change; sealed?: boolean; run?: RunOptions } = {},
  ): Promise<string> {
    const run = join(await scratchFolder(t), '01-cccccccccccc');
    await writeRun(run, own);
    await change?.(run);
    if (sealed) await seal(run, await loadOrCreateKey());
    return run;
  }

  const refused = (code: string, message: RegExp) => (error: unknown) =>
    error instanceof QualifyError &&
    error.code === code &&
    /^The run 01-c{12} of before the interruption cannot be used: .*Take its folder away .*--anew\.$/.test(
      error.message,
    ) &&
    message.test(error.message);

  test('counts when it verifies, and is left as it is', async (t) => {
    const run = await made(t);
    const names = readdirSync(run);
    const found = await earlierRun(run, wanted);
    assert.ok(found.kind === 'measured');
    assert.equal(found.failure, null);
    assert.equal(found.verdict.cells.length, 1);
    assert.deepEqual(readdirSync(run), names);
  });

  test('does not count when a byte of it has changed, and is named', async (t) => {
    const run = await made(t);
    const path = join(run, 'verdict.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('1', '2'));
    await assert.rejects(
      earlierRun(run, wanted),
      refused('ERR_QUALIFY_INVALID', /verdict\.json has changed/),
    );
    rmSync(join(run, 'plan.json'));
    await assert.rejects(earlierRun(run, wanted), refused('ERR_QUALIFY_INVALID', /plan\.json/));
  });

  test('does not count when somebody else signed it', async (t) => {
    const run = await made(t, { sealed: false });
    await seal(run, await generateKey('other', join(await scratchFolder(t), 'other')));
    await assert.rejects(earlierRun(run, wanted), refused('ERR_QUALIFY_INVALID', /no key of yours/));
  });

  test('does not count when it is of another session, finished or not', async (t) => {
    const other = { revisions: { base: BASE_COMMIT, head: 'd'.repeat(40) } };
    const others: Wanted[] = [
      { ...wanted, matrix: fixtureMatrix(other) },
      { ...wanted, matrix: { ...wanted.matrix, budgets: { prefill: 3, decode: 3 } } },
      { ...wanted, rounds: 6 },
    ];
    for (const sealed of [true, false]) {
      const run = await made(t, { sealed });
      for (const one of others)
        await assert.rejects(earlierRun(run, one), refused('ERR_QUALIFY_INVALID', /of another session/));
    }
  });

  test('does not count when another machine measured it', async (t) => {
    const run = await made(t, { run: { ...options, machine: { id: 'e'.repeat(64) } } });
    await assert.rejects(earlierRun(run, wanted), refused('ERR_QUALIFY_OTHER_MACHINE', /another machine/));
  });

  test('goes on when it was interrupted or killed, and counts when the commit ended it', async (t) => {
    const ended = (code: string): Change =>
      continued((entries) => [...entries.slice(0, -1), failureEntry(null, code), endEntry(false)]);
    const interrupted = await made(t, { change: ended('ERR_QUALIFY_INTERRUPTED') });
    assert.deepEqual(await earlierRun(interrupted, wanted), { kind: 'unfinished' });
    const killed = await made(t, { sealed: false });
    assert.deepEqual(await earlierRun(killed, wanted), { kind: 'unfinished' });
    const broken = await earlierRun(await made(t, { change: ended('ERR_QUALIFY_BUILD_FAILED') }), wanted);
    assert.ok(broken.kind === 'measured');
    assert.equal(broken.failure?.code, 'ERR_QUALIFY_BUILD_FAILED');
  });

  test('is none where nothing was measured', async (t) => {
    const run = join(await scratchFolder(t), '00-bad');
    assert.deepEqual(await earlierRun(run, wanted), { kind: 'none' });
    mkdirSync(run);
    assert.deepEqual(await earlierRun(run, wanted), { kind: 'none' });
  });

  test('is not blamed for what is not of it', () => {
    const taken = new QualifyError('ERR_QUALIFY_LOCKED', 'The machine is taken.', { exit: 'infrastructure' });
    assert.equal(namingRun('/a/00-bad', taken), taken);
  });
});

type Change = (run: string) => Promise<void>;
