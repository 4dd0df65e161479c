/** Process groups against real processes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { killAllGroups, ProcessGroup } from '../../src/engine/process-group.js';
import { QualifyError } from '../../src/errors.js';
import { groupMembers, processesWithVariable } from '../../src/machine/procfs.js';
import { eventually } from '../support/eventually.js';
import { scratchFolder } from '../support/folder.js';

let marks = 0;

/** A group whose leader is a shell that runs `script`. */
async function start(t: TestContext, script: string): Promise<ProcessGroup> {
  marks += 1;
  const group = await ProcessGroup.start({
    command: '/bin/sh',
    arguments: ['-c', script],
    environment: { PATH: process.env.PATH ?? '', ONLY: 'this' },
    mark: `${process.pid}-${marks}`,
    logPath: join(await scratchFolder(t), 'log'),
  });
  t.after(() => group.stop());
  return group;
}

const said = (wanted: string) => (line: string) => (line === wanted ? line : null);
const left = (group: ProcessGroup): number =>
  groupMembers(group.pid).length + processesWithVariable(`QUALIFY_LAUNCH=${group.spec.mark}`).length;

describe('process group', () => {
  test('ends when asked', async (t) => {
    const group = await start(t, "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done");
    await group.firstLine(said('up'));
    assert.deepEqual(await group.stop(), { how: 'asked', exitCode: 0, signal: null });
    assert.equal(left(group), 0);
  });

  test('is killed when it does not end, with its children and those that left the group', async (t) => {
    const group = await start(
      t,
      "trap '' TERM; sleep 1000 & setsid sleep 1000 & echo up; wait; wait; sleep 1000",
    );
    await group.firstLine(said('up'));
    assert.ok(left(group) >= 4);
    const end = await group.stop();
    assert.deepEqual([end.how, end.signal], ['killed', 'SIGKILL']);
    assert.equal(end.left, undefined, 'a leader that still runs has left nothing behind');
    assert.equal(left(group), 0);
  });

  test('counts as killed when its leader ends and leaves a child that will not, which is named', async (t) => {
    const group = await start(
      t,
      "sh -c \"trap '' TERM; echo up; while :; do sleep 0.1; done\" & trap 'exit 0' TERM; wait",
    );
    await group.firstLine(said('up'));
    const end = await group.stop();
    assert.equal(end.how, 'killed');
    // Its `sleep` is there too most of the time.
    assert.ok(end.left?.includes('sh'), JSON.stringify(end));
    assert.equal(left(group), 0);
  });

  test('that died says with what, and shows the end of its log', async (t) => {
    const group = await start(t, 'for i in $(seq 30); do echo line $i >&2; done; exit 9');
    await assert.rejects(group.firstLine(said('never')), (error: unknown) => {
      assert.ok(error instanceof QualifyError);
      assert.match(error.message, /exit code 9/);
      assert.match(error.message, /line 30/);
      assert.doesNotMatch(error.message, /line 10\n/);
      return true;
    });
    assert.deepEqual(await group.stop(), { how: 'died', exitCode: 9, signal: null });
  });

  test('that floods its output has its log cut, and the end of it is there', async (t) => {
    const flood = 'head -c 60000000 /dev/zero | tr "\\0" x';
    for (const to of ['1', '2']) {
      const group = await start(t, `{ ${flood}; echo; echo last words; } >&${to}; exit 9`);
      await assert.rejects(group.firstLine(said('never')), /last words/);
      await group.stop();
      const log = readFileSync(group.spec.logPath, 'utf8');
      assert.ok(log.length < 40_000_000, `${log.length} bytes`);
      assert.match(log.slice(-60), /last words\n$/);
      assert.ok(log.includes('\n[qualify leaves out '));
    }
  });

  test('ends an exchange that it does not live to answer', async (t) => {
    const group = await start(t, 'sleep 0.2; kill -9 $$');
    await assert.rejects(group.alive(new Promise(() => {})), /SIGKILL/);
  });

  test('sees the environment it is given, and its mark', async (t) => {
    const group = await start(t, 'env; echo up; sleep 1000');
    await group.firstLine(said('up'));
    await group.stop();
    const names = readFileSync(group.spec.logPath, 'utf8').match(/^[A-Z_]+(?==)/gm);
    assert.deepEqual(names?.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name)).toSorted(), [
      'ONLY',
      'PATH',
      'QUALIFY_LAUNCH',
    ]);
  });

  test('that cannot be started is an error with a remedy', async (t) => {
    const logPath = join(await scratchFolder(t), 'log');
    const spec = { command: '/no/such/engine', arguments: [], environment: {}, mark: 'none', logPath };
    await assert.rejects(ProcessGroup.start(spec), { code: 'ERR_QUALIFY_LAUNCH_FAILED' });
  });

  test('goes at once when the harness exits', async (t) => {
    const group = await start(t, "trap '' TERM; echo up; sleep 1000");
    await group.firstLine(said('up'));
    killAllGroups();
    await eventually(() => left(group) === 0, 'nothing of the group is left');
  });
});
