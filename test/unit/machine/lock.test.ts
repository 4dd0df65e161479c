import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { QualifyError } from '../../../src/errors.js';
import { takeMachineLock } from '../../../src/machine/lock.js';
import { scratchFolder } from '../../support/folder.js';

const module = fileURLToPath(new URL('../../../src/machine/lock.js', import.meta.url));

/** Another process that takes the lock and says so. */
async function otherHolder(address: string): Promise<ReturnType<typeof spawn>> {
  const script = `
    const { takeMachineLock } = await import(${JSON.stringify(module)});
    const phase = () => 'round 2\\u001b[2J of 6';
    await takeMachineLock({ what: 'the other', phase, wait: false, address: ${JSON.stringify(address)} });
    console.log('taken');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data');
  assert.match(String(said), /taken/);
  return child;
}

/** An address in the abstract namespace, and one that is a file as on systems without it. */
const addresses = {
  abstract: (folder: string) => `\0test-${folder}`,
  file: (folder: string) => join(folder, 'lock'),
};

for (const [kind, address] of Object.entries(addresses)) {
  describe(`machine lock (${kind} address)`, () => {
    test('names who holds it and since when', async (t) => {
      const at = address(await scratchFolder(t));
      const child = await otherHolder(at);
      t.after(() => child.kill('SIGKILL'));
      await assert.rejects(takeMachineLock({ what: 'me', wait: false, address: at }), (error: unknown) => {
        assert.ok(error instanceof QualifyError);
        assert.equal(error.exitCode, 15);
        assert.match(error.message, new RegExp(`pid ${child.pid} .*the other.* since 20`));
        return true;
      });
    });

    test('is free again after its holder was killed', async (t) => {
      const at = address(await scratchFolder(t));
      const child = await otherHolder(at);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const told: string[] = [];
      const onWait = (message: string): void => {
        told.push(message);
      };
      const lock = await takeMachineLock({ what: 'me', wait: false, address: at, onWait });
      await lock.release();
      // The kernel takes an abstract address away with its process, so that there is nothing to tell.
      assert.deepEqual(
        told.map((message) => message.replace(at, 'AT')),
        kind === 'file' ? ['took the lock AT over from a process that is dead'] : [],
      );
    });

    test('waits for its holder, telling again and again who that is and what it is at', async (t) => {
      const at = address(await scratchFolder(t));
      const child = await otherHolder(at);
      t.after(() => child.kill('SIGKILL'));
      const told: string[] = [];
      const connections: number[] = [];
      const taking = takeMachineLock({
        what: 'me',
        wait: true,
        address: at,
        tellEveryMs: 100,
        onWait: (message) => {
          // It may be told once more while its holder dies.
          if (!message.startsWith('waiting') || told.length === 3) return;
          told.push(message);
          connections.push(process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length);
          if (told.length === 3) child.kill('SIGKILL');
        },
      });
      const lock = await taking;
      assert.equal(told.length, 3);
      assert.equal(connections[2], connections[0], 'it hangs up before it asks again');
      for (const message of told)
        assert.match(message, new RegExp(`^waiting for pid ${child.pid} .*, now at: round 2 \\[2J of 6$`));
      await lock.release();
    });

    test('tells since when it is held, and not since when its holder waited', async (t) => {
      const at = address(await scratchFolder(t));
      const first = await takeMachineLock({ what: 'one', wait: false, address: at });
      let freedAt = '';
      const onWait = (message: string): void => {
        if (!message.startsWith('waiting') || freedAt !== '') return;
        setTimeout(() => {
          freedAt = new Date().toISOString();
          void first.release();
        }, 50);
      };
      const second = await takeMachineLock({ what: 'two', wait: true, address: at, onWait });
      const taken = takeMachineLock({ what: 'three', wait: false, address: at });
      await assert.rejects(taken, ({ message }: Error) => {
        const since = /two\), since (\S+Z)/.exec(message)?.[1] ?? '';
        assert.ok(freedAt !== '' && since >= freedAt, `${message}, freed ${freedAt}`);
        return true;
      });
      await second.release();
    });

    test('stops waiting when interrupted', async (t) => {
      const at = address(await scratchFolder(t));
      const child = await otherHolder(at);
      t.after(() => child.kill('SIGKILL'));
      const controller = new AbortController();
      const reason = new Error('enough');
      const waiting = takeMachineLock({
        what: 'me',
        wait: true,
        address: at,
        signal: controller.signal,
        onWait: () => controller.abort(reason),
      });
      await assert.rejects(waiting, reason);
    });

    test('can be taken again after release', async (t) => {
      const at = address(await scratchFolder(t));
      const first = await takeMachineLock({ what: 'one', wait: false, address: at });
      await first.release();
      await first.release();
      const second = await takeMachineLock({ what: 'two', wait: false, address: at });
      await second.release();
    });
  });
}
