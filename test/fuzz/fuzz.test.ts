/** The fuzzer sees what it is there to see. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { QualifyError } from '../../src/errors.js';
import { fuzz } from './fuzz.js';
import { damagedBytes, damagedValue } from './mutations.js';

test('a reader that throws what is not its own error is found', async (context) => {
  const careless = (input: unknown): void => void (input as { a: { b: number } }).a.b;
  await assert.rejects(fuzz(context, damagedValue([{ a: { b: 1 } }]), careless), /TypeError/);
});

test('a reader that accepts what it should not is found', async (context) => {
  const lax = (input: Buffer): void => assert.equal(Buffer.from(input.toString('utf8')).compare(input), 0);
  await assert.rejects(fuzz(context, damagedBytes(['plain']), lax), /AssertionError|Property failed/);
});

test('a reader that changes a prototype is found', async (context) => {
  const polluting = (): void => void Reflect.set(Object.prototype, 'polluted', true);
  try {
    await assert.rejects(fuzz(context, fc.constant(0), polluting), /changed a prototype/);
  } finally {
    Reflect.deleteProperty(Object.prototype, 'polluted');
  }
});

test('a reader that is slow is found', async (context) => {
  const slow = (): void => {
    for (const began = process.cpuUsage(); process.cpuUsage(began).user < 2.1e6; );
  };
  await assert.rejects(fuzz(context, fc.constant(0), slow, { share: 0.01 }), /took \d+ ms/);
});

/** What becomes of a process that fuzzes this reader. */
function fuzzed(name: string, reader: string, options = {}): { signal: string | null; stderr: string } {
  const module = fileURLToPath(new URL('./fuzz.js', import.meta.url));
  const script = `
    import { fuzz } from ${JSON.stringify(module)};
    import fc from 'fast-check';
    await fuzz(${JSON.stringify({ name })}, fc.constant(0), ${reader}, ${JSON.stringify(options)});`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('../../../', import.meta.url)),
    encoding: 'utf8',
    timeout: 290_000,
  });
}

test('a reader that never comes back ends the process, by name', { timeout: 300_000 }, () => {
  const { signal, stderr } = fuzzed('endless', '() => { for (;;); }', { mostCpuMs: 1000 });
  assert.match(stderr, /a reader hangs: endless/);
  assert.equal(signal, 'SIGKILL');
});

test('so does one that waits for ever', { timeout: 300_000 }, () => {
  const waiting = '() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
  const { signal, stderr } = fuzzed('waiting', waiting, { mostWaitMs: 1000 });
  assert.match(stderr, /a reader hangs: waiting/);
  assert.equal(signal, 'SIGKILL');
});

test('a refusal of ours is none of this', async (context) => {
  const refuse = (): void => {
    throw new QualifyError('ERR_QUALIFY_INVALID', 'no', { exit: 'invalid' });
  };
  const { taken, refused } = await fuzz(context, fc.constant(0), refuse);
  assert.equal(taken, 0);
  assert.ok(refused > 0);
});
