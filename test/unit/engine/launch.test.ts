import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { launchServer, listeningPort } from '../../../src/engine/launch.js';
import { scratchFolder } from '../../support/folder.js';

const announcing = (port: unknown): string => JSON.stringify({ event: 'listening', port, more: 1 });

test('the line of a server that listens has a port', () => {
  for (const port of [1, 8080, 65_535]) assert.equal(listeningPort(announcing(port)), port);
  for (const port of [0, -5, 65_536, 99_999, 1.5, '8080', null])
    assert.equal(listeningPort(announcing(port)), null);
  for (const line of ['listening', '{', '[]', '{"event":"listening"}', '{"event":"loading","port":80}'])
    assert.equal(listeningPort(line), null);
});

for (const port of [0, -5, 99_999, '80'])
  test(`an engine that announces the port ${JSON.stringify(port)} is refused at once`, async (t) => {
    const launching = launchServer(
      {
        command: '/bin/sh',
        arguments: ['-c', 'echo "$LINE"; exec sleep 1000'],
        environment: { PATH: process.env.PATH ?? '', LINE: announcing(port) },
        mark: `launch test ${process.pid} ${port}`,
        logPath: join(await scratchFolder(t), 'log'),
      },
      60_000,
    );
    await assert.rejects(launching, {
      code: 'ERR_QUALIFY_ANSWER_MALFORMED',
      message: `The engine announces the port ${JSON.stringify(port)}; a port is a whole number from 1 to 65535.`,
    });
  });
