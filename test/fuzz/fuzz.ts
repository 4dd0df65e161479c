/**
 * Fuzzing of what reads the bytes of others. The property of every reader: it takes its input or throws its own error, soon; nothing
 * else is thrown, nothing hangs, and no prototype is another afterwards. `FUZZ_SEED` gives other inputs (`random`: others each time, and
 * the seed is told), `FUZZ_RUNS` more of them.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { QualifyError } from '../../src/errors.js';

const { FUZZ_SEED = '1' } = process.env;
const seed = FUZZ_SEED === 'random' ? randomInt(2 ** 31) : Number(FUZZ_SEED);
const RUNS = Number(process.env.FUZZ_RUNS ?? 200);
/** CPU time: a reader that takes more for one small input is as good as one that hangs. */
const MOST_MS = 2000;
/** CPU time of one input at which nobody waits for its end. */
const HANGS_AFTER_MS = 10_000;
/** The same by the clock on the wall, for a reader that sleeps. A busy machine may let a process wait for long. */
const MOST_WAIT_MS = 120_000;

/** `taken`: accepted; `refused`: by an error of ours. */
export type Outcome = 'taken' | 'refused';

interface FuzzOptions {
  /** Share of `FUZZ_RUNS`, for readers that are slow. */
  share?: number;
  /** Which errors are the reader's own. */
  isRefusal?: (error: unknown) => boolean;
  mostWaitMs?: number;
  mostCpuMs?: number;
}

const isOurs = (error: unknown): boolean => error instanceof QualifyError;

/** Feeds `inputs` to `read`, which also asserts what must hold of what it takes. */
export async function fuzz<T>(
  context: Pick<TestContext, 'name'> & Partial<Pick<TestContext, 'diagnostic'>>,
  inputs: fc.Arbitrary<T>,
  read: (input: T) => void | Promise<void>,
  { share = 1, isRefusal = isOurs, mostWaitMs = MOST_WAIT_MS, mostCpuMs = HANGS_AFTER_MS }: FuzzOptions = {},
): Promise<Record<Outcome, number>> {
  const counts: Record<Outcome, number> = { taken: 0, refused: 0 };
  let slowestMs = 0;
  const watch = watchForHang(context.name, mostWaitMs, mostCpuMs);
  const before = prototypes();
  try {
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        const began = cpuMs();
        watch.beat();
        counts[await outcome(read, input, isRefusal)] += 1;
        const took = cpuMs() - began;
        slowestMs = Math.max(slowestMs, took);
        if (took > MOST_MS) throw new Error(`took ${Math.round(took)} ms`);
        if (prototypes() !== before) throw new Error('changed a prototype');
      }),
      { seed, numRuns: Math.max(1, Math.round(RUNS * share)), includeErrorInReport: true },
    );
  } finally {
    await watch.end();
  }
  context.diagnostic?.(
    `FUZZ_SEED=${seed}: ${counts.taken} taken, ${counts.refused} refused, slowest ${Math.round(slowestMs)} ms`,
  );
  return counts;
}

/** A test that a reader stands up to `inputs`, some of which it takes and some of which it refuses. */
export function fuzzTest<T>(
  name: string,
  inputs: fc.Arbitrary<T>,
  read: (input: T) => void | Promise<void>,
  options?: FuzzOptions,
): void {
  test(name, async (context) => {
    const { taken, refused } = await fuzz(context, inputs, read, options);
    assert.ok(
      taken > 0 && refused > 0,
      `inputs that are all alike are no test: ${taken} taken, ${refused} refused`,
    );
  });
}

async function outcome<T>(
  read: (input: T) => void | Promise<void>,
  input: T,
  isRefusal: (error: unknown) => boolean,
): Promise<Outcome> {
  try {
    await read(input);
    return 'taken';
  } catch (error) {
    if (isRefusal(error)) return 'refused';
    throw error;
  }
}

/** Names and values of everything that all objects share. */
function prototypes(): string {
  const shared = [Object, Array, Function, String, Number, Map, Set, Error].flatMap((type) => [
    type,
    type.prototype,
  ]);
  return shared.map((object) => Reflect.ownKeys(object).map(String).join()).join(';');
}

/** CPU time of all threads of this process so far. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Ends the process from another thread when a reader does not come back: nothing in this one could. */
function watchForHang(
  name: string,
  mostWaitMs: number,
  mostCpuMs: number,
): { beat: () => void; end: () => Promise<unknown> } {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const watcher = `
    const { workerData: { beats, name, mostCpuMs, mostWaitMs } } = require('node:worker_threads');
    let last = { beat: -1 };
    setInterval(() => {
      const { user, system } = process.cpuUsage();
      const now = { beat: Atomics.load(beats, 0), cpuMs: (user + system) / 1000, ms: performance.now() };
      if (now.beat !== last.beat) last = now;
      else if (now.beat > 0 && (now.cpuMs - last.cpuMs > mostCpuMs || now.ms - last.ms > mostWaitMs)) {
        require('node:fs').writeSync(2, 'a reader hangs: ' + name + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }
    }, 500);`;
  const workerData = { beats, name, mostCpuMs, mostWaitMs };
  const worker = new Worker(watcher, { eval: true, execArgv: [], workerData });
  worker.unref();
  return { beat: () => void Atomics.add(beats, 0, 1), end: () => worker.terminate() };
}
