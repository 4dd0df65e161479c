/** A memory that is throttled below what is borne of an arm by itself, and honest engines, noisy and slow to warm up. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import { gainsApart } from '../../../src/analysis/gain-apart.js';
import { observe } from '../../../src/analysis/observations.js';
import { Stream } from '../../../src/plan/stream.js';
import { FastDraw } from '../../../src/simulation/draw.js';
import { judge } from '../../../src/verdict/judge.js';
import {
  alterAnswers,
  type JournalOptions,
  makeJournal,
  makePlan,
  verdictOf,
} from '../../fixtures/journal.js';

const plan = makePlan({ protocol: { warmups: 2, samples: 5, clock: 'wall' } });

/** Milliseconds of each prefill, by arm and purpose. */
const taking = (ms: (arm: string, purpose: string, launch: string) => number): JournalOptions => ({
  alter: alterAnswers(
    () => true,
    ({ launch, purpose, answer }) => {
      const promptMs = ms(launch.split('-')[1] ?? '', purpose, launch);
      const clientMs = promptMs + (answer.predictedMs ?? 0) + 0.5;
      return { promptMs, promptCpuMs: promptMs, clientMs };
    },
  ),
});

const codesOf = (options: JournalOptions): string[] =>
  verdictOf(plan, options).cells[0]?.coldness.reasons.map(({ code, message }) => `${code} ${message}`) ?? [];

describe('samples that gain more over a new prompt than those of the other arm', () => {
  test('are refused, in head and in base, though it is far less than a quarter', () => {
    for (const liar of ['head', 'base'])
      for (const spared of [0.02, 0.1]) {
        const options = taking((arm, purpose) =>
          arm === liar && purpose === 'sample' ? 100 * (1 - spared) : 100,
        );
        const [found = ''] = codesOf(options);
        assert.match(found, new RegExp(`^warm-across-launches .* samples of ${liar} gain`));
        const verdict = verdictOf(plan, options);
        assert.equal(verdict.result, 'cold-unproved');
        assert.deepEqual(verdict.cells[0]?.arms, {});
      }
  });

  test('are refused where the first round had nothing to remember yet, and the rounds are noisy', () => {
    const noise = (launch: string): number => 1 + 0.004 * ((launch.charCodeAt(1) % 3) - 1);
    const options = taking((arm, purpose, launch) =>
      arm === 'head' && purpose === 'sample' && !launch.startsWith('r0-') ? 90 * noise(launch) : 100,
    );
    assert.match(codesOf(options)[0] ?? '', /^warm-across-launches .* samples of head gain/);
  });

  test('are borne below half the margin', () =>
    assert.deepEqual(
      codesOf(taking((arm, purpose) => (arm === 'head' && purpose === 'sample' ? 99.2 : 100))),
      [],
    ));

  test('are borne where warming up costs both arms the same share, or the same time, or some of both', () => {
    const speeds: Record<string, number> = { base: 100, head: 60 };
    for (const [share, ms] of [
      [0.1, 0],
      [0, 8],
      [0.05, 5],
    ] as const) {
      const costs = taking((arm, purpose) => {
        const own = speeds[arm] ?? 0;
        return purpose === 'warmup' ? own * (1 + share) + ms : own;
      });
      assert.deepEqual(codesOf(costs), [], `${share} and ${ms} ms`);
    }
  });

  test('are borne where an arm becomes slower from request to request', () =>
    assert.deepEqual(
      codesOf(taking((arm, purpose) => (arm === 'head' && purpose === 'sample' ? 105 : 100))),
      [],
    ));

  test('are not looked for below 6 rounds', () => {
    const short = makePlan({ protocol: { warmups: 2, samples: 5, looks: [4], clock: 'wall' } });
    const spared = taking((arm, purpose) => (arm === 'head' && purpose === 'sample' ? 90 : 100));
    assert.deepEqual(judge(short, analyse(short, makeJournal(short, spared))).cells[0]?.coldness.reasons, []);
  });
});

test('honest engines of a noise of 2 % are refused in less than one of 200 cells', () => {
  const { launches } = observe(makeJournal(plan));
  const [cell] = plan.cells;
  assert.ok(cell);
  const draw = new FastDraw(new Stream('seed', 'gain-apart'));
  const trials = 4000;
  let refused = 0;
  for (let trial = 0; trial < trials; trial++) {
    const noisy = launches.map((launch) => ({
      ...launch,
      samples: launch.samples.map((sample) => ({
        ...sample,
        answer: { ...sample.answer, promptMs: 100 * Math.exp(0.02 * draw.normal()) },
      })),
    }));
    const of = (arm: string) => noisy.filter((launch) => launch.arm === arm);
    refused += gainsApart(cell, of('head'), of('base'), 'wall').length;
  }
  assert.ok(refused < trials / 200, `${refused} of ${trials}`);
});
