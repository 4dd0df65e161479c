/** Readings one after the other in this process: which of them show everybody, and how much they tell of a suspect. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { telemetrySampleSchema } from '../../../src/journal/telemetry.js';
import { KeptFiles } from '../../../src/machine/kept-files.js';
import { TelemetryReader } from '../../../src/machine/telemetry-reading.js';

const READINGS = 30;
/** No process has it. */
const NO_GROUP = 2 ** 30;

const isThis = ({ pid }: { pid: number }): boolean => pid === process.pid;

/** The files of this machine, but what this process used, and what everybody did, is as set; each reading of it takes the next. */
class SetTicks extends KeptFiles {
  readonly #own = `/proc/${process.pid}/stat`;
  readonly #text = readFileSync(this.#own, 'latin1');
  readonly #uses: number[] = [];
  #used = 0;
  #busy = 0;

  set(busy: number, ...uses: number[]): void {
    this.#busy = busy;
    this.#uses.splice(0, Infinity, ...uses);
  }

  override read(path: string): string | null {
    if (path === '/proc/stat') return `cpu  ${this.#busy} 0 0 9000 0 0 0 0\n`;
    if (path !== this.#own) return super.read(path);
    this.#used = this.#uses.shift() ?? this.#used;
    // Its own time and that of its children are four fields from the twelfth after the name.
    const end = this.#text.lastIndexOf(')') + 2;
    const fields = this.#text.slice(end).split(' ');
    fields.splice(11, 4, String(this.#used), '0', '0', '0');
    return this.#text.slice(0, end) + fields.join(' ');
  }
}

describe('readings of telemetry', () => {
  test('show everybody at both ends, and rise from one to the next', (t) => {
    // Whoever else is there is another's group: this process, where the engine is none of the machine.
    const reader = new TelemetryReader(NO_GROUP, [process.ppid], false);
    t.after(() => reader.close());
    const first = reader.first();
    const last = reader.next(true);
    for (const sample of [first, last]) {
      telemetrySampleSchema.parse(sample);
      assert.ok(sample.others?.some(isThis));
      assert.ok(!sample.others?.some(({ pid }) => pid === process.ppid));
      assert.ok(!('gpuUsers' in sample));
    }
    for (const counter of ['atMs', 'selfCpuMs'] as const) assert.ok(last[counter] > first[counter], counter);
    for (const counter of ['busyTicks', 'totalTicks', 'ownTicks'] as const)
      assert.ok(last[counter] >= first[counter], counter);
  });

  test('ask who holds a device at both ends and every fifth time at least, though nobody works', (t) => {
    const reader = new TelemetryReader(NO_GROUP, [], true);
    t.after(() => reader.close());
    const samples = [reader.first()];
    while (samples.length < READINGS) samples.push(reader.next(samples.length === READINGS - 1));
    const asked = samples.flatMap(({ gpuUsers }, at) => (gpuUsers === undefined ? [] : [at]));
    assert.equal(asked[0], 0);
    assert.equal(asked.at(-1), READINGS - 1);
    for (const [index, at] of asked.entries())
      assert.ok(at - (asked[index - 1] ?? 0) <= 5, `${at} of ${asked.join(', ')}`);
    const whole = samples.flatMap(({ others }, at) => (others?.some(isThis) ? [at] : []));
    for (const at of asked) assert.ok(whole.includes(at), `${at} of ${whole.join(', ')}`);
    // The others show suspects only, of whom there are five at most.
    for (const [at, { others = [] }] of samples.entries())
      assert.ok(asked.includes(at) || others.length <= 5, `${at}: ${others.length}`);
  });

  test('tell of a suspect what others ran once, where all are read after it', (t) => {
    const files = new SetTicks();
    const reader = new TelemetryReader(NO_GROUP, [], false, files);
    t.after(() => reader.close());
    const told = (sample: ReturnType<TelemetryReader['first']>) => sample.others?.find(isThis)?.cpuTicks;
    files.set(1000, 100);
    assert.equal(told(reader.first()), 100);
    files.set(1010, 110);
    assert.equal(told(reader.next(true)), 110);
    // From now on it is a suspect, and read twice where all are read.
    files.set(1010, 112, 114);
    assert.equal(told(reader.next(true)), 110, 'two ticks apart are borne once');
    files.set(1050, 134, 139);
    assert.equal(told(reader.next(true)), 135, 'what it used between its two readings is not lost');
  });
});
