/** A shell that looks for its old jobs has not run them now. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { summariseTelemetry } from '../../../src/analysis/telemetry.js';
import { ForeignTicks } from '../../../src/machine/foreign-ticks.js';
import { TelemetryReader } from '../../../src/machine/telemetry-reading.js';

const other = (pid: number, name: string, cpuTicks: number) => ({ pid, name, cpuTicks });

describe('ticks of others', () => {
  test('rise as they are read while others ran as much, and a reading apart', () => {
    const ticks = new ForeignTicks();
    assert.deepEqual(ticks.tell([other(1, 'make', 500)], 1000), [other(1, 'make', 500)]);
    assert.deepEqual(ticks.tell([other(1, 'make', 550)], 1050), [other(1, 'make', 550)]);
    assert.deepEqual(ticks.tell([other(1, 'make', 602)], 1100), [other(1, 'make', 602)]);
  });

  test('rise by what all others ran where a process got more at once, and go on from there', () => {
    const ticks = new ForeignTicks();
    ticks.tell([other(1, 'sh', 10)], 1000);
    assert.deepEqual(ticks.tell([other(1, 'sh', 360_010)], 1004), [other(1, 'sh', 14)]);
    assert.deepEqual(ticks.tell([other(1, 'sh', 360_015)], 1010), [other(1, 'sh', 19)]);
    // The counters of the engine may fall, so that others seem to have run less than nothing.
    assert.deepEqual(ticks.tell([other(1, 'sh', 360_095)], 990), [other(1, 'sh', 19)]);
  });

  test('of another process under the same number begin anew', () => {
    const ticks = new ForeignTicks();
    ticks.tell([other(1, 'sh', 500)], 1000);
    assert.deepEqual(ticks.tell([other(1, 'sh', 3)], 1001), [other(1, 'sh', 3)]);
    assert.deepEqual(ticks.tell([other(1, 'cc', 900)], 1002), [other(1, 'cc', 900)]);
  });
});

test('a shell that waits for a job of before the launch is not said to use more than the machine has', async (t) => {
  const burn = 'while (process.cpuUsage().user < 1e6);';
  // Some ticks of its own, so that the first reading shows it.
  const work = 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done';
  const script = `${work}; "$0" -e '${burn}' & echo made; read line; wait; echo waited; read line`;
  const shell = spawn('/bin/sh', ['-c', script, process.execPath], { stdio: ['pipe', 'pipe', 'ignore'] });
  t.after(() => shell.kill('SIGKILL'));
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'made');
  const { pid } = shell;
  assert.ok(pid);
  // The job has ended, and nobody has looked.
  const job = (): string =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')[0] ?? '';
  while (!/ Z /.test(readFileSync(`/proc/${job()}/stat`, 'latin1'))) await sleep(20);
  const reader = new TelemetryReader(2 ** 30, [], false);
  t.after(() => reader.close());
  const first = reader.first();
  shell.stdin.write('\n');
  assert.equal((await lines.next()).value, 'waited');
  const last = reader.next(true);
  shell.stdin.end('\n');
  await once(shell, 'close');
  const [before, after] = [first, last].map(({ others }) => others?.find((one) => one.pid === pid)?.cpuTicks);
  const total = last.totalTicks - first.totalTicks;
  assert.ok(before !== undefined && after !== undefined && after >= before, `${before} to ${after}`);
  assert.ok(after - before <= total + 2, `${before} to ${after} of ${total}`);
  for (const { name, cpuShare } of summariseTelemetry([first, last]).others)
    assert.ok(cpuShare * Math.max(1, total) <= total + 2, `${name}: ${cpuShare} of ${total}`);
});
