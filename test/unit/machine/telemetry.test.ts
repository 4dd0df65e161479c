/** The telemetry's own process on this machine: what it writes, when it ends. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { summariseTelemetry } from '../../../src/analysis/telemetry.js';
import { parseTelemetry, type TelemetrySample } from '../../../src/journal/telemetry.js';
import { processStat } from '../../../src/machine/procfs.js';
import { Telemetry } from '../../../src/machine/telemetry.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/folder.js';

const isGone = (pid: number): boolean => {
  const state = processStat(pid)?.state;
  return state === undefined || 'ZX'.includes(state);
};

/** What is in the file so far; its last line may be half a one. */
function written(path: string): TelemetrySample[] {
  const text = readFileSync(path, 'utf8');
  return parseTelemetry(text.slice(0, text.lastIndexOf('\n') + 1), path);
}

describe('telemetry', () => {
  test('reads the machine at both ends of a launch, and knows the engine from others', async (t) => {
    const folder = await scratchFolder(t);
    const engine = spawn('/bin/sh', ['-c', 'while :; do :; done'], { detached: true, stdio: 'ignore' });
    const other = spawn('/bin/sh', ['-c', 'while :; do :; done'], { detached: true, stdio: 'ignore' });
    const telemetry = new Telemetry();
    t.after(() => {
      telemetry.close();
      for (const { pid } of [engine, other]) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    });
    await Promise.all([once(engine, 'spawn'), once(other, 'spawn')]);
    const path = join(folder, 'telemetry.jsonl');
    await telemetry.watch(engine.pid ?? 0, path);
    const ticks = (pid = 0): number => processStat(pid)?.cpuTicks ?? 0;
    const begin = [engine, other].map(({ pid }) => ticks(pid));
    await eventually(
      () => [engine, other].every(({ pid }, at) => ticks(pid) > (begin[at] ?? 0)),
      'both have worked',
    );
    await telemetry.finish();
    const samples = parseTelemetry(readFileSync(path, 'utf8'), path);
    const [first, last] = [samples[0], samples.at(-1)];
    assert.ok(samples.length >= 2);
    assert.ok((last?.ownTicks ?? 0) > (first?.ownTicks ?? 0), 'the engine is ours');
    const { costShare } = summariseTelemetry(samples);
    assert.ok(costShare > 0 && costShare < 1);
    const found = last?.others?.find(({ pid }) => pid === other.pid);
    assert.equal(found?.name, 'sh');
    assert.ok(!last?.others?.some(({ pid }) => pid === engine.pid));
  });

  test('names who worked in the middle of a launch, though it ended before the last reading', async (t) => {
    const path = join(await scratchFolder(t), 'telemetry.jsonl');
    const telemetry = new Telemetry();
    t.after(() => telemetry.close());
    const seen = () => written(path);
    await telemetry.watch(process.pid, path);
    await eventually(() => seen().length >= 3, 'three readings');
    const worker = spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
    t.after(() => worker.kill('SIGKILL'));
    await once(worker, 'spawn');
    const ticks = () =>
      seen().flatMap(({ others = [] }) =>
        others.flatMap(({ pid, cpuTicks }) => (pid === worker.pid ? cpuTicks : [])),
      );
    await eventually(() => (ticks().at(-1) ?? 0) > (ticks()[0] ?? 0), 'the worker was read twice');
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    await telemetry.finish();
    const read = seen();
    assert.ok(read.length > 3);
    const seconds = ((read.at(-1)?.atMs ?? 0) - (read[0]?.atMs ?? 0)) / 1000;
    assert.ok(read.length <= seconds + 3, `both ends, and once a second: ${read.length} in ${seconds} s`);
    assert.ok(
      !seen()
        .at(-1)
        ?.others?.some(({ pid }) => pid === worker.pid),
    );
    const { others } = summariseTelemetry(
      seen().map((sample) => ({
        ...sample,
        others: sample.others?.filter(({ pid }) => pid === worker.pid) ?? [],
      })),
    );
    assert.deepEqual(
      others.map(({ name }) => name),
      ['sh'],
    );
  });

  test('keeps nothing open of a launch that is over', async (t) => {
    const folder = await scratchFolder(t);
    const telemetry = new Telemetry();
    t.after(() => telemetry.close());
    const opened = () => readdirSync(`/proc/${telemetry.pid}/fd`).length;
    await telemetry.watch(process.pid, join(folder, 'a'));
    const during = opened();
    await telemetry.finish();
    const after = opened();
    assert.ok(during > after, `${during} while it watched, ${after} after`);
    await telemetry.watch(process.pid, join(folder, 'b'));
    await telemetry.finish();
    assert.equal(opened(), after);
  });

  test('watches one launch after the other, and refuses two at once and a file that is there', async (t) => {
    const folder = await scratchFolder(t);
    const telemetry = new Telemetry();
    t.after(() => telemetry.close());
    await telemetry.watch(process.pid, join(folder, 'a'));
    await assert.rejects(telemetry.watch(process.pid, join(folder, 'b')), /another launch is watched/);
    await telemetry.finish();
    await assert.rejects(telemetry.finish(), /no launch is watched/);
    await assert.rejects(telemetry.watch(process.pid, join(folder, 'a')), /EEXIST/);
    await telemetry.watch(process.pid, join(folder, 'b'));
    await telemetry.finish();
  });

  test('says so when its process was ended, instead of measuring on', async (t) => {
    const telemetry = new Telemetry();
    t.after(() => telemetry.close());
    const { pid = 0 } = telemetry;
    process.kill(pid, 'SIGKILL');
    await eventually(() => isGone(pid), 'it is gone');
    await assert.rejects(
      telemetry.watch(process.pid, join(await scratchFolder(t), 'x')),
      /ERR_QUALIFY|stopped/,
    );
  });

  test('ends when it is closed, even if somebody stopped it', async () => {
    const telemetry = new Telemetry();
    const { pid = 0 } = telemetry;
    assert.equal(isGone(pid), false);
    process.kill(pid, 'SIGSTOP');
    telemetry.close();
    await eventually(() => isGone(pid), 'it is gone');
  });

  test('ends when the harness is killed', async (t) => {
    const program = new URL('../../../src/machine/telemetry.js', import.meta.url).href;
    const script = `import { Telemetry } from ${JSON.stringify(program)};
      const telemetry = new Telemetry();
      console.log(telemetry.pid);
      setInterval(() => {}, 1000);`;
    const harness = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => harness.kill('SIGKILL'));
    const [data] = await once(harness.stdout, 'data');
    const pid = Number(String(data));
    assert.equal(isGone(pid), false);
    harness.kill('SIGKILL');
    await eventually(() => isGone(pid), 'it is gone');
  });
});
