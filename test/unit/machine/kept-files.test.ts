/** Files that are opened once: what is read is what they say now, and nothing stays open that need not. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { KeptFiles } from '../../../src/machine/kept-files.js';
import { scratchFolder } from '../../support/folder.js';

/** How many descriptors of this process lead to the file. */
const opened = (path: string): number =>
  readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith(path);
    } catch {
      return false;
    }
  }).length;

describe('kept files', () => {
  test('say what is in them now, and stay open until they are closed', async (t) => {
    const path = join(await scratchFolder(t), 'file');
    const files = new KeptFiles();
    writeFileSync(path, 'one');
    assert.equal(files.read(path), 'one');
    writeFileSync(path, 'another');
    assert.equal(files.read(path), 'another');
    assert.equal(opened(path), 1);
    files.close();
    assert.equal(opened(path), 0);
    assert.equal(files.read(path), 'another', 'after that it is opened again');
    files.forget(path);
    assert.equal(opened(path), 0);
  });

  test('beyond the most that may be kept are opened for each reading', async (t) => {
    const folder = await scratchFolder(t);
    const files = new KeptFiles(1);
    for (const name of ['a', 'b']) writeFileSync(join(folder, name), name);
    for (const name of ['a', 'b', 'a', 'b']) assert.equal(files.read(join(folder, name)), name);
    assert.equal(opened(folder), 1);
    files.close();
  });

  test('are read to the end, however long', async (t) => {
    const path = join(await scratchFolder(t), 'long');
    const text = 'æ0123456789'.repeat(20_000);
    writeFileSync(path, text, 'latin1');
    const files = new KeptFiles();
    t.after(() => files.close());
    assert.equal(files.readLong(path), text);
    assert.equal(files.read(path)?.length, 65_536);
    assert.match(files.readLong('/proc/vmstat') ?? '', /^nr_free_pages \d+\n(.*\n)+$/);
  });

  test('that are gone, or never were, are null and leave nothing open', async (t) => {
    const folder = await scratchFolder(t);
    const files = new KeptFiles();
    assert.equal(files.read(join(folder, 'none')), null);
    assert.equal(files.read(folder), null, 'a folder is no file');
    assert.equal(opened(folder), 0);
  });

  test('are opened anew where what was opened is gone and another thing has its name', async (t) => {
    const path = join(await scratchFolder(t), 'stat');
    const files = new KeptFiles();
    t.after(() => files.close());
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    symlinkSync(`/proc/${child.pid}/stat`, path);
    assert.ok(files.read(path)?.startsWith(`${child.pid} `));
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(path);
    symlinkSync(`/proc/${process.pid}/stat`, path);
    assert.ok(files.read(path)?.startsWith(`${process.pid} `));
    assert.equal(opened(`/proc/${child.pid}`), 0);
  });
});
