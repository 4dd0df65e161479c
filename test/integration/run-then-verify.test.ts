/** From a real session, on a fake engine, to a verdict that somebody else checks at another place. */
import assert from 'node:assert/strict';
import { appendFileSync, renameSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Home, type Switches } from '../support/run-cli.js';

/** Runs a matrix and moves its folder away, as a stranger would receive it. */
async function runAndMove(
  context: TestContext,
  head: Switches,
): Promise<{ home: Home; exitCode: number | null; moved: string }> {
  const home = new Home();
  context.after(() => home.remove());
  const matrix = home.fakeMatrix({ base: { DFLASH_MOE_GROUPED_MMID_PREFILL: '0' }, head });
  const { exitCode } = await home.run('run', matrix, '--rounds', '2', '--out', home.path('run'));
  const moved = home.path('moved');
  renameSync(home.path('run'), moved);
  return { home, exitCode, moved };
}

test('what a session sealed verifies elsewhere, and not with a byte more', async (context) => {
  const { home, exitCode, moved } = await runAndMove(context, { DFLASH_MOE_GROUPED_MMID_PREFILL: '1' });
  const verified = await home.run('verify', moved, '--json');
  assert.equal(verified.exitCode, 0, verified.stderr);
  const { signer, statement } = JSON.parse(verified.stdout);
  assert.equal(signer.trust, 'own');
  assert.equal(statement.predicate.exitCode, exitCode);
  assert.equal(statement.predicate.complete, true);
  appendFileSync(`${moved}/journal.jsonl`, '\n');
  assert.equal((await home.run('verify', moved)).exitCode, 16);
});

test('a session whose engine crashed verifies too', async (context) => {
  const { home, exitCode, moved } = await runAndMove(context, { FAKE_FAULT: 'crash:3' });
  assert.equal(exitCode, 15);
  const verified = await home.run('verify', moved, '--json');
  assert.equal(verified.exitCode, 0, verified.stderr);
  assert.equal(JSON.parse(verified.stdout).statement.predicate.result, 'infrastructure');
});
