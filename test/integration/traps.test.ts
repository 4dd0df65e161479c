/** Every trap is run by the real CLI and gets the one verdict that is right, in a run folder that verifies; an honest engine passes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { describe, type TestContext, test } from 'node:test';
import type { Verdict } from '../../src/verdict/schema.js';
import { type Trap, traps } from '../fixtures/traps.js';
import { nothingRunsOf } from '../support/eventually.js';
import { type CliResult, fakeServer, type Home, newHome, type Switches } from '../support/run-cli.js';

/** An honest fake engine of nobody's, as a run elsewhere would have started it. Answers its port. */
async function otherServer(t: TestContext, home: Home): Promise<string> {
  const server = spawn(
    process.execPath,
    [fakeServer, '--model', home.path('model.gguf'), '--nonce', 'theirs'],
    {
      env: { PATH: process.env.PATH },
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  t.after(() => server.kill('SIGKILL'));
  const [line] = await once(createInterface(server.stdout), 'line');
  return String((JSON.parse(String(line)) as { port: number }).port);
}

/** Two folders that hold the same build; answers their revisions. */
function twinBuilds(home: Home): string[] {
  const folder = home.fakeBuild('one');
  const twin = home.path('two');
  cpSync(folder, twin, { recursive: true });
  return [`prebuilt:${folder}`, `prebuilt:${twin}`];
}

/** Arguments of the command that walks into the trap. */
async function commandOf(t: TestContext, home: Home, trap: Trap): Promise<string[]> {
  const { base = {}, head = {}, cells = [64], protocol = {}, rounds = 1 } = trap;
  const shared: Switches = {};
  if (trap.store) {
    shared.FAKE_STORE = home.path('store');
    mkdirSync(shared.FAKE_STORE);
  }
  // A store of head alone counts its own launches.
  const arms = { base: base.FAKE_FAULT ? { ...base, ...shared } : base, head: { ...head, ...shared } };
  const write = (): string => home.fakeMatrix(arms, { ...protocol, looks: [rounds] }, cells);
  const matrix = write();
  const out = ['--out', 'run', '--seed', 'traps'];
  if (trap.needs === 'twin-builds') return ['compare', ...twinBuilds(home), '--matrix', matrix, ...out];
  if (trap.needs === 'other-server') {
    arms.head.FAKE_PORT = await otherServer(t, home);
    write();
  }
  return ['run', matrix, ...out];
}

/** Nothing that is not proved is shown. */
function showsNothing({ cells }: Verdict): void {
  for (const cell of cells) {
    assert.deepEqual(cell.arms, {});
    for (const { effect } of cell.comparisons) assert.equal(effect, null);
  }
}

/** Tries on a machine so busy that the clocks of requests of a few milliseconds part, which outranks some refusals. */
const TRIES = 3;

/** Runs the trap; again where the clocks parted, which no trap but those of the clocks is about. */
async function walkInto(
  t: TestContext,
  trap: Trap,
  tries = TRIES,
): Promise<{ home: Home; result: CliResult; verdict: Verdict }> {
  // Where scratch is in memory, no page of it comes from a disk.
  const home = newHome(t, trap.needs === 'disk' ? tmpdir() : undefined);
  const result = await home.run(...(await commandOf(t, home, trap)));
  const verdict = home.verdict();
  const busy = verdict.reasons.some(({ code }) => code === 'clocks-contradict');
  if (tries > 1 && busy && verdict.result !== trap.result) return walkInto(t, trap, tries - 1);
  return { home, result, verdict };
}

describe('an engine that', () => {
  test('has no fault passes', async (t) => {
    const home = newHome(t);
    // Answers so long that a stall of a busy machine is small beside them, and medians of many.
    const slow = { FAKE_US_PER_TOKEN: '2000' };
    const matrix = home.fakeMatrix({ base: slow, head: slow });
    const result = await home.run('run', matrix, '--out', 'run', '--seed', 'traps');
    assert.equal(result.exitCode, 0, result.stderr + JSON.stringify(home.verdict().reasons));
    assert.equal(home.verdict().result, 'pass');
  });

  for (const trap of traps) {
    test(`${trap.what}: ${trap.result}, ${trap.code}`, async (t) => {
      const { home, result, verdict } = await walkInto(t, trap);
      const told = JSON.stringify(verdict.reasons);
      assert.equal(verdict.result, trap.result, `${told}\n${result.stderr}`);
      assert.equal(verdict.reasons[0]?.code, trap.code, told);
      assert.equal(result.exitCode, trap.exitCode);
      assert.equal(verdict.exitCode, trap.exitCode);
      if (trap.result !== 'fail') showsNothing(verdict);
      await nothingRunsOf(home);
      const verified = await home.run('verify', 'run');
      assert.equal(verified.exitCode, 0, verified.stderr);
    });
  }

  test('is caught in at least 24 ways', () => {
    assert.ok(traps.length >= 24);
    assert.equal(new Set(traps.map(({ what }) => what)).size, traps.length);
  });
});
