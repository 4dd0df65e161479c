/** Engines that answer what is no answer: each exchange ends, whatever comes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { HttpClient } from '../../../src/engine/http-client.js';

/** A client of an engine that does `answer` with each connection once it was asked. */
async function clientOf(t: TestContext, answer: (socket: Socket) => void): Promise<HttpClient> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new HttpClient((server.address() as AddressInfo).port);
  t.after(() => {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return client;
}

const UPGRADE = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
const PROCESSING = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(1000);

/** Writes `text` as fast as it is taken, until the connection ends. */
function flood(socket: Socket, text: string): void {
  const more = (): void => {
    if (!socket.destroyed) socket.write(text, () => setImmediate(more));
  };
  more();
}

/** Ends a test in which an exchange does not, rather than the whole file. */
const timeout = 60_000;

describe('an exchange ends', { timeout }, () => {
  test('with a failure when the engine switches protocols, and the next one is a new connection', async (t) => {
    let asked = 0;
    const client = await clientOf(t, (socket) => {
      asked += 1;
      socket.write(asked === 1 ? UPGRADE : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
    await assert.rejects(client.exchange('GET', '/health', { timeoutMs: 60_000 }), {
      code: 'ERR_QUALIFY_EXCHANGE_FAILED',
      message: 'GET /health failed: the engine switches protocols instead of answering.',
    });
    const { body } = await client.exchange('GET', '/health', { timeoutMs: 60_000 });
    assert.equal(body, 'ok');
  });

  test('with a failure when the connection is closed instead of an answer', async (t) => {
    const client = await clientOf(t, (socket) => socket.end());
    const answer = client.exchange('GET', '/health', { timeoutMs: 60_000 });
    await assert.rejects(answer, { code: 'ERR_QUALIFY_EXCHANGE_FAILED' });
  });

  test('at its time limit when the engine says without end that it is at work', async (t) => {
    const client = await clientOf(t, (socket) => flood(socket, PROCESSING));
    const answer = client.exchange('GET', '/health', { timeoutMs: 300 });
    await assert.rejects(answer, { code: 'ERR_QUALIFY_TIMEOUT' });
  });

  test('at an abort, in the middle of an answer and before one', async (t) => {
    const begun = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no';
    for (const text of ['', begun, 'HTTP/1.1 100 Continue\r\n\r\n']) {
      const client = await clientOf(t, (socket) => {
        socket.write(text);
        setTimeout(() => controller.abort(reason), 50);
      });
      const controller = new AbortController();
      const reason = new Error('enough');
      const answer = client.exchange('GET', '/health', { timeoutMs: 60_000, signal: controller.signal });
      await assert.rejects(answer, reason);
    }
  });
});
