import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { EngineLog } from '../../../src/engine/engine-log.js';
import { scratchFolder } from '../../support/folder.js';

const LIMITS = { firstBytes: 10, lastBytes: 4 };

/** What a log holds that is given these pieces, and its tail before it is closed. */
async function logged(t: TestContext, pieces: readonly string[]): Promise<{ text: string; tail: string }> {
  const path = join(await scratchFolder(t), 'log');
  const log = new EngineLog(path, LIMITS);
  for (const piece of pieces) log.write(Buffer.from(piece));
  const tail = log.tail(1);
  log.close();
  return { text: readFileSync(path, 'utf8'), tail };
}

test('holds all that fits, however it comes', async (t) => {
  for (const text of ['', '0123456789', '0123456789abcd'])
    for (const pieces of [[text], [...text]]) assert.deepEqual(await logged(t, pieces), { text, tail: text });
});

test('holds the first and the last part of what does not fit, and says how much is left out', async (t) => {
  const text = '0123456789abcdefghijklmnopqrstuvwxyz';
  const kept = '0123456789\n[qualify leaves out 22 bytes here]\nwxyz';
  for (const pieces of [
    [text],
    [...text],
    [text.slice(0, 12), text.slice(12)],
    [text.slice(0, 3), text.slice(3)],
  ])
    assert.equal((await logged(t, pieces)).text, kept);
});

test('shows its last lines', async (t) => {
  assert.equal((await logged(t, ['one\ntwo\n'])).tail, 'two');
  assert.equal((await logged(t, ['one\ntwo\nthree\nfour\n'])).tail, 'our', 'of what is kept');
});

test('keeps a bound of memory and of disk, whatever comes', async (t) => {
  const path = join(await scratchFolder(t), 'log');
  const log = new EngineLog(path);
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const before = process.memoryUsage().arrayBuffers;
  for (let megabytes = 0; megabytes < 300; megabytes += 1) log.write(Buffer.from(piece));
  log.write(Buffer.from('\nthe end\n'));
  assert.ok(process.memoryUsage().arrayBuffers - before < 256 * 1024 * 1024);
  assert.equal(log.tail(1), 'the end');
  log.close();
  const bytes = readFileSync(path);
  assert.ok(bytes.length < 64 * 1024 * 1024, `${bytes.length}`);
  assert.equal(bytes.subarray(-9).toString(), '\nthe end\n');
});
