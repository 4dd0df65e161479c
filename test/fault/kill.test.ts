/** A session that is ended at any moment leaves no process, port, lock or worktree, and its folder stays readable. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseJournal } from '../../src/journal/read.js';
import { takeMachineLock } from '../../src/machine/lock.js';
import { ofABusyMachine } from '../support/busy-machine.js';
import { eventually, nothingRunsOf } from '../support/eventually.js';
import { type Home, newHome, type StartedCli } from '../support/run-cli.js';

const linesOf = (home: Home): number => {
  const path = home.path('run', 'journal.jsonl');
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0;
};

/** Ports of the launches in the journal, whatever state its last line is in. */
function portsOf(home: Home): number[] {
  const text = readFileSync(home.path('run', 'journal.jsonl'), 'utf8');
  const entries = parseJournal(text.slice(0, text.lastIndexOf('\n') + 1), 'journal');
  return entries.flatMap((entry) => (entry.kind === 'launch' ? [entry.port] : []));
}

/** Whether an engine of this home serves there. Somebody else may have been given the port since. */
async function isServed(home: Home, port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/props`, { signal: AbortSignal.timeout(5000) });
    return (await answer.text()).includes(home.folder);
  } catch (error) {
    // One that hangs is there, too.
    return error instanceof Error && error.name === 'TimeoutError';
  }
}

async function assertNothingLeft(home: Home): Promise<void> {
  await nothingRunsOf(home);
  assert.deepEqual(readdirSync(home.path('tmp')), []);
  for (const port of portsOf(home)) assert.equal(await isServed(home, port), false, `port ${port}`);
  const lock = await takeMachineLock({ what: 'test', wait: false, address: `\0test ${home.folder}` });
  await lock.release();
}

/** Starts a long session and waits for the journal to hold `lines` lines. */
async function startUntil(home: Home, lines: number, head: Record<string, string> = {}): Promise<StartedCli> {
  const matrix = home.fakeMatrix({ head: { FAKE_US_PER_TOKEN: '400', ...head } }, { looks: [24] });
  const started = home.start(['run', matrix, '--out', 'run']);
  await eventually(
    () => linesOf(home) >= lines || started.child.exitCode !== null,
    `${lines} lines of the journal`,
  );
  assert.equal(started.child.exitCode, null, started.stderr());
  return started;
}

/** Somewhere in the first launches: after the start, in a launch, between two. */
const moments = [1, 4, 6, 9, 13].map((lines) => ({ lines, delayMs: Math.floor(Math.random() * 200) }));

/** Side by side: most of their time is waiting for guards, and none comes to a verdict, which a busy machine could change. */
describe('a session that is killed', { concurrency: 3 }, () => {
  for (const { lines, delayMs } of moments) {
    test(`by SIGKILL, ${delayMs} ms after line ${lines}, leaves nothing`, async (t) => {
      const home = newHome(t);
      const { child, finished } = await startUntil(home, lines);
      await sleep(delayMs);
      child.kill('SIGKILL');
      assert.equal((await finished).signal, 'SIGKILL');
      await assertNothingLeft(home);
    });
  }

  test('by SIGKILL leaves nothing of an engine that hangs', async (t) => {
    const home = newHome(t);
    const started = await startUntil(home, 4, { FAKE_FAULT: 'hang-busy:2' });
    await sleep(500);
    started.child.kill('SIGKILL');
    await started.finished;
    await assertNothingLeft(home);
  });
});

describe('a session that is interrupted', () => {
  for (const [index, { lines, delayMs }] of moments.entries()) {
    const signal = index % 2 === 0 ? 'SIGINT' : 'SIGTERM';
    test(`by ${signal}, ${delayMs} ms after line ${lines}, says so and leaves nothing`, async (t) => {
      const home = newHome(t);
      const { child, finished } = await startUntil(home, lines);
      await sleep(delayMs);
      child.kill(signal);
      const result = await finished;
      const { exitCode, reasons } = home.verdict();
      const busy = exitCode === 14 && reasons.every(({ code }) => ofABusyMachine.includes(code));
      if (!busy) assert.equal(exitCode, 12, result.stderr);
      assert.equal(result.exitCode, exitCode, result.stderr);
      const entries = home.journal();
      assert.deepEqual(
        entries.filter((entry) => entry.kind === 'failure').map((entry) => entry.code),
        ['ERR_QUALIFY_INTERRUPTED'],
      );
      const end = entries.at(-1);
      assert.ok(end?.kind === 'end' && !end.complete);
      await assertNothingLeft(home);
    });
  }

  test('twice ends at once and leaves nothing, even of an engine that ignores SIGTERM', async (t) => {
    const home = newHome(t);
    const { child, finished } = await startUntil(home, 4, { FAKE_FAULT: 'hang-busy:2' });
    child.kill('SIGINT');
    await sleep(300);
    child.kill('SIGINT');
    assert.notEqual((await finished).exitCode, 0);
    await assertNothingLeft(home);
  });
});
