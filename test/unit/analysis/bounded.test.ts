/** Parity `bounded`: within its limits it passes, and every way of being beyond them is planted and seen. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { distanceOf } from '../../../src/analysis/bounded.js';
import type { Answer, EntryOf } from '../../../src/journal/entries.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import {
  alterAnswers,
  type Draft,
  type JournalOptions,
  makePlan,
  verdictOf,
} from '../../fixtures/journal.js';

const limits = { top1: 0.9, common: 0.6, meanLogProbability: 0.1 };
const plan = makePlan({
  protocol: { warmups: 1, samples: 3, looks: [6], clock: 'cpu', parity: 'bounded', bounded: limits },
});
const inHead = (sample: EntryOf<'sample'>): boolean => sample.launch.endsWith('-head');

/** Likely ids for tokens: the token itself and two that no prompt gives, `apart` from what another arm says. */
const likely = (tokens: readonly number[], apart = 0): NonNullable<Answer['probabilities']> =>
  tokens.map((token) => [
    [token, -0.1 - apart],
    [1000, -3 - apart],
    [1001, -4],
  ]);

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
    // 1 warm-up and 3 samples of one token, and 16 of the parity request, in each of 6 rounds.
    assert.equal(parity.distance?.positions, 6 * 20);
    assert.equal(parity.distance.top1, 1);
    assert.equal(parity.distance.common, 1);
    assert.ok(Math.abs((parity.distance.meanLogProbability ?? 0) - 0.04) < 1e-9);
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
    const other = (token: number): [number, number][] => [
      [token, -0.1],
      [2000, -3],
      [2001, -4],
    ];
    const verdict = verdictWith(({ answer }) => ({ probabilities: answer.tokens.map(other) }));
    fails(verdict, 'common-below-limit');
    assert.equal(parityOf(verdict)?.distance?.top1, 1);
    assert.equal(parityOf(verdict)?.distance?.meanLogProbability, 0);
  });

  test('fails likely ids of which none is in common', () => {
    const tokens = (answer: Answer): number[] => answer.tokens.map((token) => token + 500);
    const verdict = verdictWith(({ answer }) => ({
      tokens: tokens(answer),
      probabilities: tokens(answer).map((token) => [[token, -0.1]]),
    }));
    for (const code of ['top1-below-limit', 'common-below-limit', 'log-probabilities-apart'])
      fails(verdict, code);
    assert.equal(parityOf(verdict)?.distance?.meanLogProbability, null);
  });

  test('is unproved without the likely ids, with too few of them, or with another id first', () => {
    for (const change of [
      () => ({ probabilities: undefined }),
      ({ answer }: EntryOf<'sample'>) => ({ probabilities: likely(answer.tokens).slice(1) }),
      ({ answer }: EntryOf<'sample'>) => ({ probabilities: likely(answer.tokens.map((token) => token + 1)) }),
    ])
      fails(verdictWith(change), 'probabilities-absent', 'unsupported');
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
    // At the parting the best ids differ and the two others are in common.
    common: (1 + 2 / 3) / 2,
    meanLogProbability: 0,
  });
  assert.equal(distanceOf([[plain, plain]]).positions, 4);
});

function verdictSample(tokens: number[]): EntryOf<'sample'> {
  const journal = { tokens, probabilities: likely(tokens) };
  return { answer: journal } as unknown as EntryOf<'sample'>;
}
