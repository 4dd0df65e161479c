import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { withCacheLock } from '../../../src/revision/cache-lock.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/folder.js';

const lockModule = new URL('../../../src/revision/cache-lock.js', import.meta.url).href;

/** A process that holds the lock until it is killed; resolves when it has it. */
async function holder(path: string) {
  const script = `
    import { withCacheLock } from '${lockModule}';
    await withCacheLock(${JSON.stringify(path)}, async () => {
      process.stdout.write('held');
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

it('lets one at a time in, in this process', async (context) => {
  const path = join(await scratchFolder(context), 'a.lock');
  let inside = 0;
  let most = 0;
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setTimeout(resolve, 10));
    inside -= 1;
  };
  await Promise.all([1, 2, 3, 4].map(() => withCacheLock(path, work)));
  assert.equal(most, 1);
});

it('waits for a living process, names it, and takes over when it is killed', async (context) => {
  const folder = await scratchFolder(context);
  const path = join(folder, 'a.lock');
  const child = await holder(path);
  const waitedFor: number[] = [];
  const onWait = (pid: number) => {
    waitedFor.push(pid);
    child.kill('SIGKILL');
  };
  assert.equal(await withCacheLock(path, async () => 'mine', { onWait }), 'mine');
  assert.deepEqual(waitedFor, [child.pid]);
  await eventually(() => readdirSync(folder).length === 0, 'nothing of the two is left');
});

it('stops waiting when it is told to', async (context) => {
  const path = join(await scratchFolder(context), 'a.lock');
  const child = await holder(path);
  const stop = new AbortController();
  const reason = new Error('enough');
  const waiting = withCacheLock(path, async () => 'mine', {
    signal: stop.signal,
    onWait: () => stop.abort(reason),
  });
  await assert.rejects(waiting, reason);
  child.kill('SIGKILL');
  await eventually(() => !existsSync(path), 'the guard of the killed holder removes its lock');
});

it('takes over a lock whose pid now belongs to another process, and an unreadable one', async (context) => {
  const path = join(await scratchFolder(context), 'a.lock');
  for (const text of [JSON.stringify({ pid: process.pid, startTicks: 1 }), '', 'not json']) {
    await writeFile(path, text);
    assert.equal(await withCacheLock(path, async () => 'mine'), 'mine');
  }
});

it('frees the lock when the work fails', async (context) => {
  const path = join(await scratchFolder(context), 'a.lock');
  await assert.rejects(
    withCacheLock(path, async () => {
      throw new Error('no');
    }),
    /no/,
  );
  assert.equal(await withCacheLock(path, async () => 'again'), 'again');
});
