/** Servers that tell the time to their own advantage, and machines that are merely busy. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer } from '../../../src/journal/entries.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import { alterAnswers, type JournalOptions, makePlan, verdictOf } from '../../fixtures/journal.js';

const [wall, cpu] = [makePlan({ protocol: { clock: 'wall' } }), makePlan({ protocol: { clock: 'cpu' } })];

/** Changes the answers of one arm. */
const arm = (
  name: string,
  change: (answer: Answer, at: number) => Partial<Answer>,
): NonNullable<JournalOptions['alter']> =>
  alterAnswers(
    ({ launch }) => launch.endsWith(`-${name}`),
    ({ answer, index, launch }) => change(answer, index + launch.length),
  );

function refused(verdict: Verdict, code: string): void {
  const [comparison] = verdict.cells[0]?.comparisons ?? [];
  assert.equal(verdict.result, 'unmatched');
  assert.deepEqual([...new Set(comparison?.reasons.map((reason) => reason.code))], [code]);
  assert.equal(comparison?.effect, null);
  assert.deepEqual(verdict.cells[0]?.arms, {});
}

/** The answers of both arms take `clientMs`, of which each claims its own. */
const claiming = (clientMs: number, base: number, head: number): JournalOptions => ({
  ms: ({ arm: name }) => (name === 'head' ? head : base),
  alter: alterAnswers(
    () => true,
    () => ({ clientMs }),
  ),
});

describe('the time that a client saw and a server does not claim', () => {
  test('is refused where head claims almost nothing of it', () =>
    refused(verdictOf(wall, claiming(101.5, 100, 1)), 'clocks-contradict'));

  test('is refused where head claims a tenth of it', () =>
    refused(verdictOf(wall, claiming(601.5, 600, 60)), 'clocks-contradict'));

  test('is refused where one arm hides a little more than a quarter', () => {
    refused(verdictOf(wall, claiming(102, 100, 73)), 'clocks-contradict');
  });

  test('is refused where the effect that is claimed is not the one that the client saw', () => {
    // All within a quarter: 23, 7 and 5.5 ms hidden of 100, where a margin of 2 % is to be told.
    for (const head of [77, 93, 94.5])
      refused(verdictOf(wall, claiming(102, 100, head)), 'clocks-contradict');
    refused(verdictOf(wall, claiming(102, 80, 100)), 'clocks-contradict');
    assert.equal(verdictOf(wall, claiming(102, 100, 96)).result, 'pass', 'clocks may be 5 ms apart');
  });

  test('may be there as the noise of rounds, in either arm', () => {
    const noisy = (of: string) =>
      alterAnswers(
        ({ launch }) => launch.endsWith(`-${of}`),
        ({ answer, launch }) => ({
          clientMs: answer.clientMs + (Number.parseInt(launch.slice(1), 10) % 2 === 0 ? 20 : 0),
        }),
      );
    assert.equal(verdictOf(wall, { alter: noisy('head') }).result, 'pass');
    assert.equal(verdictOf(wall, { alter: noisy('base') }).result, 'pass');
  });

  test('is refused where a prefill passes its time on to a decode without tokens', () => {
    const passedOn = arm('head', () => ({ promptMs: 70, predictedMs: 31 }));
    refused(verdictOf(wall, { alter: passedOn }), 'clocks-contradict');
  });

  test('is of the phase that is timed', () => {
    const decode = makePlan({
      cells: [{ promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 32 }],
      protocol: { clock: 'wall' },
    });
    // 6 ms of 106.5, but of 50 ms of decoding.
    const hidden = arm('head', ({ predictedMs }) => ({ predictedMs: (predictedMs ?? 0) - 6 }));
    refused(verdictOf(decode, { ms: () => 50, alter: hidden }), 'clocks-contradict');
  });

  test('is refused where both arms hide most of it alike', () => {
    refused(verdictOf(wall, claiming(301, 20, 20)), 'clocks-contradict');
    assert.equal(verdictOf(wall, claiming(201, 20, 20)).result, 'pass');
  });

  test('is refused where an answer leaves the time out that the cell does not need', () => {
    const decode = makePlan({
      cells: [{ promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 32 }],
      protocol: { clock: 'wall' },
    });
    refused(verdictOf(decode, { alter: arm('head', () => ({ promptMs: null })) }), 'clocks-contradict');
  });

  test('may be there on a busy machine, alike in both arms', () => {
    const busy = alterAnswers(
      () => true,
      ({ answer, index, launch }) => ({
        clientMs: answer.clientMs + 5 + ((index * 31 + launch.length * 17) % 65),
      }),
    );
    assert.equal(verdictOf(wall, { alter: busy }).result, 'pass');
    assert.equal(verdictOf(cpu, { alter: busy }).result, 'pass');
  });

  test('may be there for a single hiccup', () => {
    const hiccup = arm('head', ({ clientMs }, at) => ({
      clientMs: at % 3 === 0 ? clientMs + 400 : clientMs,
    }));
    assert.equal(verdictOf(wall, { alter: hiccup }).result, 'pass');
  });
});

describe('CPU time that decides', () => {
  test('is refused where wall time shows another effect', () => {
    refused(verdictOf(cpu, { alter: arm('head', () => ({ promptCpuMs: 49 })) }), 'cpu-and-wall-disagree');
    refused(verdictOf(cpu, { alter: arm('base', () => ({ promptCpuMs: 201 })) }), 'cpu-and-wall-disagree');
  });

  test('is refused where there is no wall time beside it', () => {
    const silent = alterAnswers(
      () => true,
      ({ answer }) => ({ promptMs: null, clientMs: 40 + (answer.predictedMs ?? 0) }),
    );
    refused(verdictOf(cpu, { alter: silent }), 'cpu-and-wall-disagree');
  });

  test('is refused beyond what the threads can have spent', () => {
    // Two threads for 100 ms: 200 ms, and a tolerance of 10 % and 5 ms.
    const both = (promptCpuMs: number): JournalOptions => ({
      alter: alterAnswers(
        () => true,
        () => ({ promptCpuMs }),
      ),
    });
    refused(verdictOf(cpu, both(226)), 'cpu-beyond-wall');
    assert.equal(verdictOf(cpu, both(224)).result, 'pass');
  });

  test('is refused beyond that where wall time decides, too: then wall time is what is understated', () => {
    const both = (promptCpuMs: number): JournalOptions => ({
      alter: alterAnswers(
        () => true,
        () => ({ promptCpuMs }),
      ),
    });
    refused(verdictOf(wall, both(226)), 'cpu-beyond-wall');
    assert.equal(verdictOf(wall, both(224)).result, 'pass');
  });

  test('may differ from wall time as load makes it', () => {
    assert.equal(
      verdictOf(cpu, { alter: arm('head', ({ clientMs }) => ({ promptMs: 180, clientMs: clientMs + 80 })) })
        .result,
      'pass',
    );
  });

  test('is not asked about where wall time decides', () =>
    assert.equal(verdictOf(wall, { alter: arm('head', () => ({ promptCpuMs: 20 })) }).result, 'pass'));
});
