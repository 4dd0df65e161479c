/** What a planted slowdown adds: its share of each time, and no more. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NativeEngine, NativeResult } from '../../../src/engine/addon.js';
import { SlowedEngine, spinOf, type Times } from '../../../src/engine/server/planted-slowdown.js';

const result: NativeResult = {
  ...{ cacheN: 0, promptN: 4, tokens: Int32Array.of(7, 8), logits: Float32Array.of(1) },
  ...{ promptMs: 40, promptCpuMs: 80, predictedMs: 20, predictedCpuMs: 36 },
  ...{ stages: { attention: 10 }, stopReason: 'limit' },
};
const request = {
  ...{ tokens: Int32Array.of(1, 2, 3, 4), generatedTokens: 2, chunk: 32, reuseCache: false },
  stopTokens: [],
};

/** An engine that answers `done`. */
const answering = (done: NativeResult): NativeEngine => ({
  ...{ vocabulary: 300, contextTokens: 64, isa: 'portable', threads: 2, switches: {} },
  complete: () => ({ id: 1, result: Promise.resolve(done) }),
  cancel: () => {},
  counters: () => ({}),
  logits: () => Promise.resolve(Float32Array.of(1)),
  memory: () => ({}),
  close: () => {},
});

/** Completes one request on an engine slowed by `percent`; each time taken is told to be 3 ms more than was asked for. */
async function slowed(percent: number, done: NativeResult): Promise<{ asked: Times[]; told: NativeResult }> {
  const asked: Times[] = [];
  const take = async (times: Times): Promise<Times> => {
    asked.push(times);
    return { wallMs: times.wallMs + 3, cpuMs: times.cpuMs + 3 };
  };
  const engine = new SlowedEngine(answering(done), percent, { take, close: () => {} });
  return { asked, told: await engine.complete(request, null).result };
}

describe('a slowed engine', () => {
  test('asks for the planted share of each time, and adds what was taken', async () => {
    const { asked, told } = await slowed(25, result);
    assert.deepEqual(asked, [
      { wallMs: 10, cpuMs: 20 },
      { wallMs: 5, cpuMs: 9 },
    ]);
    assert.deepEqual(told, {
      ...result,
      ...{ promptMs: 40 + 13, promptCpuMs: 80 + 23, predictedMs: 20 + 8, predictedCpuMs: 36 + 12 },
      stages: { attention: 10, planted: 13 },
    });
  });

  test('asks for nothing where nothing was generated, or the request was cancelled', async () => {
    const { asked } = await slowed(25, { ...result, predictedMs: 0, predictedCpuMs: 0 });
    assert.deepEqual(asked, [{ wallMs: 10, cpuMs: 20 }]);
    const cancelled = await slowed(25, { ...result, stopReason: 'cancelled' });
    assert.deepEqual(cancelled.asked, []);
  });
});

test('each thread spins for its part of the CPU time, and all wait for one point in time', () => {
  const spin = spinOf({ wallMs: 2.5, cpuMs: 9 }, 1_000_000_000n, 3);
  assert.deepEqual(spin, { cpuMs: 3, untilNs: 1_002_500_000n });
});
