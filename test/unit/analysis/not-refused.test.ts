/** While every proof is there nothing is refused, and what only looks like a missing one is not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { alterAnswers, type JournalOptions, makePlan, verdictOf } from '../../fixtures/journal.js';
import { inHead, plan, warningsOf } from '../../fixtures/refused.js';

test('nothing is refused while every proof is there', () => {
  const verdict = verdictOf(plan);
  assert.equal(verdict.result, 'pass');
  assert.equal(verdict.exitCode, 0);
  assert.equal(verdict.cells[0]?.arms.head?.n, 18);
  assert.deepEqual(warningsOf(verdict), []);
});

describe('what is no missing proof', () => {
  const alike: [string, JournalOptions['alter']][] = [
    ["a chunk that is the cell's", alterAnswers(inHead, () => ({ chunk: 32 }))],
    ['logits that are all numbers', alterAnswers(inHead, () => ({ nonFiniteLogits: 0 }))],
    [
      'a page now and then from the disk',
      (draft) => (draft.kind === 'load' ? { ...draft, majorFaults: 64 } : draft),
    ],
    [
      'a warm-up that another launch answers in another way: its prompt is another',
      alterAnswers(
        ({ purpose }) => purpose === 'warmup',
        ({ launch }) => ({ logitsSha256: sha256(launch) }),
      ),
    ],
  ];
  for (const [what, alter] of alike) {
    test(what, () => assert.equal(verdictOf(plan, alter === undefined ? {} : { alter }).result, 'pass'));
  }

  test('chunks that are all longer than the prompt', () => {
    const short = makePlan({ cells: [{ promptTokens: 64, chunk: 512 }] });
    assert.equal(verdictOf(short, { alter: alterAnswers(inHead, () => ({ chunk: 64 })) }).result, 'pass');
  });
});
