import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { QualifyError } from '../../../src/errors.js';
import { socketName, takeMachineLock } from '../../../src/machine/lock.js';
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

describe('the name of a lock', () => {
  // Node 20 fills up what is shorter, and Node 22 does not: they would not exclude each other.
  test('has every byte that a name can have, whatever it is made of', () => {
    const names = ['qualify.lock', 'é€😀', 'x'.repeat(107), 'y'.repeat(108), 'z'.repeat(1000)];
    const sockets = names.map((name) => socketName(`\0${name}`));
    for (const socket of sockets) assert.equal(Buffer.byteLength(socket), 108);
    assert.equal(new Set(sockets).size, names.length);
    assert.equal(sockets[0]?.replace(/\0*$/, ''), '\0qualify.lock');
  });

  test('that is longer than the system takes excludes too', async (t) => {
    const address = `\0${await scratchFolder(t)}${'x'.repeat(200)}`;
    const lock = await takeMachineLock({ what: 'one', wait: false, address });
    await assert.rejects(takeMachineLock({ what: 'two', wait: false, address }), {
      code: 'ERR_QUALIFY_LOCKED',
    });
    await lock.release();
  });
});

describe('whoever has the name of the lock', () => {
  async function listener(t: TestContext, onConnection: (socket: Socket) => void): Promise<string> {
    const address = `\0test-${await scratchFolder(t)}`;
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      onConnection(socket);
    });
    server.listen({ path: socketName(address) });
    await once(server, 'listening');
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return address;
  }

  const LINE = `${JSON.stringify({ pid: 1, user: 'u', since: 's', what: 'w' })}\n`;
  /** How each behaves, and who it is taken for. */
  const strangers: Record<string, [(socket: Socket) => void, RegExp]> = {
    'says much and never ends a line': [(socket) => flood(socket, 'x'.repeat(65_536)), /does not answer/],
    // It is believed or not, as its words come.
    'says who it is and goes on': [
      (socket) => socket.write(LINE, () => flood(socket, 'x'.repeat(65_536))),
      /^The machine is taken by (pid 1 |a process)/,
    ],
    'hangs up at once': [(socket) => socket.destroy(), /does not answer/],
  };
  for (const [what, [behave, taken]] of Object.entries(strangers))
    test(`and ${what} is neither read on and on nor asked all the time`, { timeout: 60_000 }, async (t) => {
      let asked = 0;
      let said = 0;
      const address = await listener(t, (socket) => {
        asked += 1;
        socket.on('close', () => {
          said += socket.bytesWritten;
        });
        behave(socket);
      });
      const refused = takeMachineLock({ what: 'me', wait: false, address });
      await assert.rejects(refused, { code: 'ERR_QUALIFY_LOCKED', message: taken });
      assert.equal(asked, 1);
      const controller = new AbortController();
      const told: string[] = [];
      const began = performance.now();
      const waiting = takeMachineLock({
        ...{ what: 'me', wait: true, address, signal: controller.signal, tellEveryMs: 60_000 },
        onWait: (message) => told.push(message),
      });
      setTimeout(() => controller.abort(new Error('enough')), 1000);
      await assert.rejects(waiting, /enough/);
      const tries = 1 + (performance.now() - began) / 100;
      assert.ok(asked - 1 <= tries, `asked ${asked - 1} times`);
      // What the system holds of a connection that nobody reads.
      assert.ok(said <= asked * 4 * 1024 * 1024, `it said ${said} bytes`);
      assert.equal(new Set(told).size, told.length, told.join());
    });

  test('and lets nobody in, because too many ask, is not taken for nobody', {
    timeout: 60_000,
  }, async (t) => {
    const address = `\0test-${await scratchFolder(t)}`;
    const path = JSON.stringify(socketName(address));
    // It listens and never accepts, since its event loop stands still.
    const script = `
      require('node:net').createServer().listen({ path: ${path}, backlog: 1 }, () => {
        require('node:fs').writeSync(1, 'listening');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const filled: Socket[] = [];
    t.after(() => filled.forEach((socket) => void socket.destroy()));
    for (let code = ''; code !== 'EAGAIN'; ) {
      const socket = createConnection({ path: socketName(address) });
      filled.push(socket);
      code = await once(socket, 'connect').then(
        () => '',
        (error: NodeJS.ErrnoException) => error.code ?? '',
      );
    }
    await assert.rejects(takeMachineLock({ what: 'me', wait: false, address }), {
      code: 'ERR_QUALIFY_LOCKED',
      message: 'The machine is taken by a process that does not answer.',
    });
  });

  function flood(socket: Socket, text: string): void {
    const more = (): void => {
      if (!socket.destroyed) socket.write(text, () => setImmediate(more));
    };
    more();
  }
});
