/** Parity `bounded`: within its limits it passes, and every way of being beyond them is planted and seen. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { distanceOf } from '../../../src/analysis/bounded.js';
import { launchesOf, observe } from '../../../src/analysis/observations.js';
import { parityOf as measureParity } from '../../../src/analysis/parity.js';
import type { Answer, EntryOf } from '../../../src/journal/entries.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import {
  alterAnswers,
  type Draft,
  type JournalOptions,
  makeJournal,
  makePlan,
  verdictOf,
} from '../../fixtures/journal.js';

const limits = { top1: 0.9, common: 0.6, meanLogProbability: 0.1 };
const plan = makePlan({
  protocol: { parity: 'bounded', bounded: limits },
});
const inHead = (sample: EntryOf<'sample'>): boolean => sample.launch.endsWith('-head');

/** Likely ids of a position: the one given and nine from `others` on, `apart` from what another arm says. */
const named = (token: number, apart = 0, others = 1000): [number, number][] =>
  Array.from({ length: 10 }, (_, rank) => [
    rank === 0 ? token : others + rank,
    -0.1 - 3 * rank - (rank % 2 === 0 ? apart : 0),
  ]);
const likely = (tokens: readonly number[], apart = 0): NonNullable<Answer['probabilities']> =>
  tokens.map((token) => named(token, apart));

/** A session whose answers all name likely ids, with the head changed where asked. */
function verdictWith(
  change?: (sample: EntryOf<'sample'>) => Partial<Answer>,
  more?: JournalOptions,
): Verdict {
  const all = alterAnswers(
    () => true,
    ({ answer }) => ({ probabilities: likely(answer.tokens) }),
  );
  const head = change === undefined ? undefined : alterAnswers(inHead, change);
  const alter = (draft: Draft): Draft => head?.(all(draft)) ?? all(draft);
  return verdictOf(plan, { ...more, alter });
}

/** Parity of the first comparison over a whole session, from the entries as they are altered. */
function parityOfPlan(alter: (draft: Draft) => Draft) {
  const seen = observe(makeJournal(plan, { alter }));
  const [cell] = plan.cells;
  assert.ok(cell !== undefined);
  return measureParity(plan, cell, launchesOf(seen, 'base', 6), launchesOf(seen, 'head', 6));
}

const parityOf = (verdict: Verdict) => verdict.cells[0]?.comparisons[0]?.parity;

function fails(verdict: Verdict, code: string, name: Verdict['result'] = 'parity-failed'): void {
  const comparison = verdict.cells[0]?.comparisons[0];
  assert.ok(comparison !== undefined);
  assert.equal(verdict.result, name, JSON.stringify(comparison.reasons));
  assert.ok(
    comparison.reasons.some((reason) => reason.code === code),
    JSON.stringify(comparison.reasons),
  );
  assert.equal(comparison.effect, null);
  assert.deepEqual(verdict.cells[0]?.arms, {});
}

describe('parity bounded', () => {
  test('passes outputs that differ by less than the limits, and says by how much', () => {
    const verdict = verdictWith(({ answer }) => ({
      logitsSha256: null,
      probabilities: likely(answer.tokens, 0.06),
    }));
    assert.equal(verdict.result, 'pass');
    const parity = parityOf(verdict);
    assert.equal(parity?.status, 'within');
    assert.equal(parity.sha256, null);
    // 3 samples of one token, and 16 of the parity request, in each of 6 rounds.
    assert.equal(parity.distance?.positions, 6 * 19);
    assert.equal(parity.distance.top1, 1);
    assert.equal(parity.distance.common, 1);
    assert.ok(Math.abs((parity.distance.meanLogProbability ?? 0) - 0.03) < 1e-9);
  });

  test('fails an arm that gives other tokens', () => {
    fails(
      verdictWith(({ answer }) => {
        const tokens = answer.tokens.map((token) => (token + 1) % 256);
        return { tokens, probabilities: likely(tokens) };
      }),
      'top1-below-limit',
    );
  });

  test('fails log-probabilities that are further apart than rounding', () => {
    fails(
      verdictWith(({ answer }) => ({ probabilities: likely(answer.tokens, 0.6) })),
      'log-probabilities-apart',
    );
  });

  test('fails likely ids of which too few are in common, however alike the rest and the best', () => {
    const other = (token: number) => named(token, 0, 2000);
    const verdict = verdictWith(({ answer }) => ({ probabilities: answer.tokens.map(other) }));
    fails(verdict, 'common-below-limit');
    assert.equal(parityOf(verdict)?.distance?.top1, 1);
    assert.equal(parityOf(verdict)?.distance?.meanLogProbability, 0);
  });

  test('fails likely ids of which none is in common', () => {
    const tokens = (answer: Answer): number[] => answer.tokens.map((token) => token + 500);
    const verdict = verdictWith(({ answer }) => ({
      tokens: tokens(answer),
      probabilities: tokens(answer).map((token) => named(token, 0, 3000)),
    }));
    for (const code of ['top1-below-limit', 'common-below-limit', 'log-probabilities-apart'])
      fails(verdict, code);
    assert.equal(parityOf(verdict)?.distance?.meanLogProbability, null);
  });

  test('is unproved without the likely ids, or with those of too few positions', () => {
    fails(
      verdictWith(() => ({ probabilities: undefined })),
      'probabilities-absent',
      'unsupported',
    );
    const few = verdictWith(({ answer }) => ({ probabilities: likely(answer.tokens).slice(1) }));
    fails(few, 'probabilities-wrong', 'unsupported');
  });

  type Named = [number, number][];
  const fakes: [string, (list: Named) => Named, RegExp][] = [
    ['one id ten times', (list) => list.map(() => list[0] ?? [0, 0]), /names 10 ids, 1 of them distinct/],
    [
      'one id where ten are asked for',
      (list) => list.slice(0, 1),
      /names 1 id, 1 of them distinct, where 10/,
    ],
    ['one id more', (list) => [...list, [5000, -90]], /names 11 ids/],
    ['another id first', (list) => list.with(0, [4000, -0.1]), /names 4000 first, but gave/],
    ['+5', (list) => list.with(0, [list[0]?.[0] ?? 0, 5]), /gives 5 as a log-probability/],
    ['+50 everywhere', (list) => list.map(([id]) => [id, 50]), /gives 50 as a log-probability/],
    ['-1e308', (list) => list.with(9, [1009, -1e308]), /gives -1e\+308 as a log-probability/],
    ['no order', (list) => list.toSpliced(1, 2, [1001, -6], [1002, -3]), /descending order/],
    ['certainty of ten ids', (list) => list.map(([id]) => [id, 0]), /probabilities that add up to 10\.0/],
  ];
  for (const [name, fake, message] of fakes) {
    test(`is unproved when both arms fake their lists alike: ${name}`, () => {
      const change = alterAnswers(
        () => true,
        ({ answer }) => ({ probabilities: likely(answer.tokens).map((list) => fake(list as Named)) }),
      );
      const seen = parityOfPlan(change);
      assert.equal(seen.status, 'unproved');
      assert.deepEqual(
        seen.reasons.map(({ code }) => code),
        ['probabilities-wrong'],
      );
      assert.match(seen.reasons[0]?.message ?? '', message);
      assert.match(seen.reasons[0]?.message ?? '', /^launch r0-base, .*, position 0 /);
    });
  }

  test('takes ties, a probability of 1 as it is rounded, and the least fp32 for one of 0', () => {
    const change = alterAnswers(
      () => true,
      ({ answer }) => ({
        probabilities: likely(answer.tokens).map((list) =>
          list.map(([id], rank): [number, number] => [id, rank === 0 ? 1e-7 : -3.4028234663852886e38]),
        ),
      }),
    );
    assert.equal(parityOfPlan(change).status, 'within');
  });

  test('decides nothing when an arm does not agree with itself', () => {
    const other = ({ answer, launch }: EntryOf<'sample'>): Partial<Answer> => {
      const tokens = launch.startsWith('r0-') ? answer.tokens.map((token) => token + 256) : answer.tokens;
      return { tokens, probabilities: likely(tokens) };
    };
    fails(verdictWith(other), 'not-deterministic', 'inconclusive');
  });

  test('refuses outputs that prove nothing, however alike they are', () => {
    const all = alterAnswers(
      () => true,
      ({ answer }) => {
        const tokens = answer.tokens.map(() => 7);
        return { tokens, probabilities: likely(tokens) };
      },
    );
    fails(verdictOf(plan, { alter: all }), 'vacuous-outputs');
  });

  test('is no verdict about an incomplete session, whose means may still move', () => {
    const verdict = verdictWith(({ answer }) => ({ probabilities: likely(answer.tokens, 0.6) }), {
      rounds: 3,
    });
    assert.equal(verdict.result, 'not-measured');
  });
});

test('positions count until the arms part: what follows has other ids before it', () => {
  const plain = verdictSample([5, 6, 7, 8]);
  assert.deepEqual(distanceOf([[plain, verdictSample([5, 9, 7, 8])]]), {
    positions: 2,
    top1: 0.5,
    // At the parting the best ids differ and the nine others are in common.
    common: (1 + 9 / 10) / 2,
    meanLogProbability: 0,
  });
  assert.equal(distanceOf([[plain, plain]]).positions, 4);
});

function verdictSample(tokens: number[]): EntryOf<'sample'> {
  const journal = { tokens, probabilities: likely(tokens) };
  return { answer: journal } as unknown as EntryOf<'sample'>;
}
