/** The arithmetic floor: what is known of the model and of the instruction set bounds every rate. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Verdict } from '../../../src/verdict/schema.js';
import { alterAnswers, alterWitness, makePlan, verdictOf } from '../../fixtures/journal.js';

/** All requests for 2048 tokens take these times. */
const prefill = (wallMs: number, cpuMs: number) =>
  alterAnswers(
    () => true,
    () => ({ promptMs: wallMs, promptCpuMs: cpuMs, clientMs: wallMs + 2 }),
  );

const mini = makePlan({ model: { preset: 'mini' }, cells: [{ promptTokens: 2048, chunk: 512 }] });
const codes = (verdict: Verdict): string[] =>
  verdict.cells[0]?.comparisons[0]?.reasons.map(({ code }) => code) ?? [];

describe('a prefill of mini on two threads of AVX2', () => {
  test('takes 163 ms at least', () => {
    assert.equal(verdictOf(mini, { alter: prefill(170, 335) }).result, 'pass');
    const verdict = verdictOf(mini, { alter: prefill(155, 335) });
    assert.equal(verdict.result, 'cold-unproved');
    assert.deepEqual(codes(verdict), ['impossible-speed']);
    assert.match(verdict.reasons[0]?.message ?? '', /tok\/s by wall time, where .* 132 million operations/);
  });

  test('takes twice as much CPU time', () => {
    const verdict = verdictOf(mini, { alter: prefill(170, 310) });
    assert.deepEqual(codes(verdict), ['impossible-speed']);
    assert.match(verdict.reasons[0]?.message ?? '', /by cpu time/);
  });
});

describe('where nothing is known', () => {
  const file = makePlan({
    model: { path: '/m.gguf', vocabulary: 500 },
    cells: [{ promptTokens: 2048, chunk: 512 }],
  });

  test('of the model, no token takes less than 100 ns', () => {
    assert.equal(verdictOf(file, { alter: prefill(0.21, 0.21) }).result, 'pass');
    assert.deepEqual(codes(verdictOf(file, { alter: prefill(0.2, 0.2) })), ['impossible-speed']);
  });

  test('of the device, the same holds, and is said', () => {
    const onGpu = (alter: ReturnType<typeof prefill>): Verdict => {
      const [base, head] = ['base', 'head'].map((arm) => alterWitness(arm, { isa: 'gfx1151' }));
      return verdictOf(mini, {
        alter: (draft) => {
          return [base, head].reduce((altered, change) => change?.(altered) ?? altered, alter(draft));
        },
      });
    };
    const verdict = onGpu(prefill(5, 5));
    assert.equal(verdict.result, 'pass');
    assert.ok(verdict.warnings.some(({ code }) => code === 'floor-unknown'));
    assert.ok(!verdictOf(mini).warnings.some(({ code }) => code === 'floor-unknown'));
    assert.deepEqual(codes(onGpu(prefill(0.2, 0.2))), ['impossible-speed']);
  });
});
