/** The table of processes on this machine, held against reading each anew. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { describe, test } from 'node:test';
import { KeptFiles } from '../../../src/machine/kept-files.js';
import { ProcessTable } from '../../../src/machine/process-table.js';
import { processStat } from '../../../src/machine/procfs.js';
import { eventually } from '../../support/eventually.js';

const isOpen = (path: string): boolean =>
  readdirSync('/proc/self/fd').some((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === path;
    } catch {
      return false;
    }
  });

describe('the table of processes', () => {
  test('says of a process what reading it anew says', async (t) => {
    const files = new KeptFiles();
    t.after(() => files.close());
    const table = new ProcessTable(files);
    // One that waits for ever: of one that runs, the second reading may be a tick later.
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    await eventually(() => processStat(pid)?.state === 'S', 'it sleeps');
    assert.deepEqual(table.read(pid), processStat(pid));
  });

  test('reads a process again after it worked', (t) => {
    const files = new KeptFiles();
    t.after(() => files.close());
    const table = new ProcessTable(files);
    const first = table.read(process.pid);
    const start = process.cpuUsage();
    for (let spent = 0; spent < 100_000; ) {
      const { user, system } = process.cpuUsage(start);
      spent = user + system;
    }
    const later = table.read(process.pid);
    assert.ok((later?.cpuTicks ?? 0) >= (first?.cpuTicks ?? 0) + 9, 'it used ten ticks');
  });

  test('finds who came, and lets go of who ended', async (t) => {
    const files = new KeptFiles();
    t.after(() => files.close());
    const table = new ProcessTable(files);
    assert.ok(table.readAll().some(({ pid }) => pid === process.pid));
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    assert.ok(table.readAll().some((stat) => stat.pid === pid));
    const path = `/proc/${pid}/stat`;
    assert.ok(isOpen(path));
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok(!table.readAll().some((stat) => stat.pid === pid));
    assert.ok(!isOpen(path));
    assert.equal(table.read(pid), null);
  });
});
