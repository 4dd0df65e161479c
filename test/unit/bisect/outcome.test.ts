/** What a verdict says of a commit. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isOfTheCommit, isWorthAnother, judgementOf } from '../../../src/bisect/outcome.js';
import { sha256 } from '../../../src/digest.js';
import { QualifyError } from '../../../src/errors.js';
import { alterAnswers, type JournalOptions, makePlan, verdictOf } from '../../fixtures/journal.js';

const plan = makePlan();
const narrowed = { ...plan, leftOut: ['2048/2048'] };

/** Head takes `factor` of base's time, with noise of `size`. */
const slower = (factor: number, size = 0.001): JournalOptions => ({
  ms: ({ arm, round, index }) =>
    arm === 'base' ? 100 : 100 * factor * (1 + size * (((round * 7 + index * 3) % 5) - 2)),
});

const judged = (options: JournalOptions, of = plan) => judgementOf(verdictOf(of, options), null);

describe('a commit', () => {
  test('is good when its cell passes, also in a run of that cell alone, which is no qualification', () => {
    assert.equal(judged(slower(1)).outcome, 'good');
    assert.equal(judged(slower(0.5)).word, 'pass, improved');
    assert.equal(verdictOf(narrowed, slower(1)).result, 'inconclusive');
    assert.deepEqual(judged(slower(1), narrowed), judged(slower(1)));
  });

  test('is bad when it is slower beyond the budget, with its effect', () => {
    for (const of of [plan, narrowed]) {
      const { outcome, word, effect } = judged(slower(1.25), of);
      assert.deepEqual([outcome, word], ['bad', 'fail, beyond-budget']);
      assert.ok(effect && Math.abs(effect.deltaPercent + 20) < 0.5);
      assert.ok(effect.upperPercent !== null && effect.upperPercent < -2);
    }
  });

  test('is undecided when the rounds do not tell, and then worth another session', () => {
    const noisy = judged({
      ms: ({ arm, round }) => (arm === 'base' ? 100 : 100 * (1 + 0.1 * (((round * 7) % 5) - 2))),
    });
    assert.equal(noisy.outcome, 'undecided', noisy.word);
    assert.ok(noisy.reason);
    assert.equal(isWorthAnother(noisy), true);
    const few = judgementOf(verdictOf(makePlan({ protocol: { samples: 2, looks: [2] } }), slower(1.5)), null);
    assert.equal(few.outcome, 'undecided', few.word);
  });

  test('is undecided when it is slower and the budget is neither kept nor broken for sure', () => {
    // Between 1 and 3 % slower: below nothing, but the bounds reach over the budget of 2 %.
    const verdict = verdictOf(plan, slower(1.02, 0.004));
    assert.equal(verdict.cells[0]?.comparisons[0]?.detail, 'slower-not-cleared');
    const { outcome, word } = judgementOf(verdict, null);
    assert.deepEqual([outcome, word], ['undecided', 'fail, slower-not-cleared']);
  });

  test('is refused when a proof is missing, with the reason, and that the run is narrowed is none', () => {
    const alter = alterAnswers(
      ({ launch }) => launch.endsWith('-head'),
      () => ({ tokens: [9, 9, 9], logitsSha256: sha256('other') }),
    );
    const refusal = judged({ ...slower(1.25), alter }, narrowed);
    assert.equal(refusal.outcome, 'refused');
    assert.equal(refusal.word, 'parity-failed');
    assert.doesNotMatch(refusal.reason ?? '', /narrowed/);
    assert.equal(isWorthAnother(refusal), false);
    for (const word of ['contaminated', 'unmatched'])
      assert.equal(isWorthAnother({ ...refusal, word }), true, word);
    for (const word of ['cold-unproved', 'ERR_QUALIFY_BUILD_FAILED'])
      assert.equal(isWorthAnother({ ...refusal, word }), false, word);
  });

  test('is good when it builds to the very binary of GOOD, whatever its sources say', () => {
    const revisions = makePlan({ arms: { base: { revision: 'a' }, head: { revision: 'b' } } });
    const one: JournalOptions = {
      ...slower(1),
      alter: (draft) => (draft.kind === 'build' ? { ...draft, binarySha256: sha256('one binary') } : draft),
    };
    assert.equal(verdictOf(revisions, one).result, 'unmatched');
    assert.deepEqual(judgementOf(verdictOf(revisions, one), null), {
      outcome: 'good',
      word: 'same binary',
      effect: null,
      reason: null,
    });
    // With another refusal beside it nothing is known.
    const cold = alterAnswers(
      () => true,
      () => ({ cacheN: 5 }),
    );
    const both: JournalOptions = { ...one, alter: (draft) => cold(one.alter?.(draft) as typeof draft) };
    assert.equal(judgementOf(verdictOf(revisions, both), null).outcome, 'refused');
  });

  test('is refused for a failure of its own; a failure of the machine says nothing of it', () => {
    const failure = (code: string) =>
      new QualifyError(code, 'the build failed:\nline 2', { exit: 'infrastructure' });
    const verdict = verdictOf(plan, slower(1));
    assert.deepEqual(judgementOf(verdict, failure('ERR_QUALIFY_BUILD_FAILED')), {
      outcome: 'refused',
      word: 'ERR_QUALIFY_BUILD_FAILED',
      effect: null,
      reason: 'the build failed:',
    });
    assert.equal(isOfTheCommit(failure('ERR_QUALIFY_BUILD_FAILED')), true);
    for (const code of ['ERR_QUALIFY_DISK_FULL', 'ERR_QUALIFY_INTERRUPTED', 'ERR_QUALIFY_LOCKED'])
      assert.equal(isOfTheCommit(failure(code)), false, code);
  });
});
