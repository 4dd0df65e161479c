/**
 * Fuzzing of what reads the bytes of others. The property of every reader: it takes its input or throws its own error, soon; nothing
 * else is thrown, nothing hangs, and no prototype is another afterwards. `FUZZ_SEED` repeats a run, `FUZZ_RUNS` lengthens it.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { QualifyError } from '../../src/errors.js';

const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31));
const RUNS = Number(process.env.FUZZ_RUNS ?? 200);
/** A reader that takes longer for one small input is as good as one that hangs. */
const MOST_MS = 2000;
const HANGS_AFTER_MS = 10_000;

/** `taken`: accepted; `refused`: by an error of ours. */
export type Outcome = 'taken' | 'refused';

export interface FuzzOptions {
  /** Share of `FUZZ_RUNS`, for readers that are slow. */
  share?: number;
  /** Which errors are the reader's own. */
  isRefusal?: (error: unknown) => boolean;
}

const isOurs = (error: unknown): boolean => error instanceof QualifyError;

/** Feeds `inputs` to `read`, which also asserts what must hold of what it takes. */
export async function fuzz<T>(
  context: TestContext,
  inputs: fc.Arbitrary<T>,
  read: (input: T) => void | Promise<void>,
  { share = 1, isRefusal = isOurs }: FuzzOptions = {},
): Promise<Record<Outcome, number>> {
  const counts: Record<Outcome, number> = { taken: 0, refused: 0 };
  let slowestMs = 0;
  const watch = watchForHang(context.name);
  const before = prototypes();
  try {
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => {
        const began = performance.now();
        watch.beat();
        counts[await outcome(read, input, isRefusal)] += 1;
        const took = performance.now() - began;
        slowestMs = Math.max(slowestMs, took);
        if (took > MOST_MS) throw new Error(`took ${Math.round(took)} ms`);
        if (prototypes() !== before) throw new Error('changed a prototype');
      }),
      { seed, numRuns: Math.max(1, Math.round(RUNS * share)), includeErrorInReport: true },
    );
  } finally {
    await watch.end();
  }
  context.diagnostic(
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

/** Ends the process from another thread when a reader does not come back: nothing in this one could. */
function watchForHang(name: string): { beat: () => void; end: () => Promise<unknown> } {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const watcher = `
    const { workerData: { beats, name, everyMs } } = require('node:worker_threads');
    let last = -1;
    setInterval(() => {
      const now = Atomics.load(beats, 0);
      if (now === last && now > 0) {
        require('node:fs').writeSync(2, 'a reader hangs: ' + name + '\\n');
        process.kill(process.pid, 'SIGKILL');
      }
      last = now;
    }, everyMs);`;
  const workerData = { beats, name, everyMs: HANGS_AFTER_MS };
  const worker = new Worker(watcher, { eval: true, execArgv: [], workerData });
  worker.unref();
  return { beat: () => void Atomics.add(beats, 0, 1), end: () => worker.terminate() };
}
