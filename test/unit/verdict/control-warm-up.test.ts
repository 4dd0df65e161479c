/** Whether the warm-ups were enough, from a journal to what follows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { promptsInOrder } from '../../../src/plan/sample-order.js';
import type { Plan } from '../../../src/plan/schema.js';
import {
  codesOf,
  comparisonOf,
  controlsOf,
  noise,
  only,
  planOf,
  times,
} from '../../fixtures/control-journal.js';
import { type JournalOptions, verdictOf } from '../../fixtures/journal.js';

describe('warm-ups', () => {
  const plan = planOf();
  /** A rate that rises by `ramp` over the samples of a launch, and prompts that cost what they cost. */
  const warming = (own: Plan, ramp: number, only = 'head'): JournalOptions => ({
    ms: (place) => {
      const order = promptsInOrder(own, '64/32', 'sample', place.round).map(({ index }) => index);
      const at = order.indexOf(place.index) / (order.length - 1);
      return 100 * noise(place) * (1 + 0.02 * place.index) * (place.arm === only ? 1 - ramp * at : 1);
    },
  });

  test('that were enough are told, by arm, whatever the prompts cost', () => {
    const verdict = verdictOf(plan, warming(plan, 0));
    assert.equal(verdict.exitCode, 0, JSON.stringify(verdict.reasons));
    assert.deepEqual(
      controlsOf(verdict, 'warm-up').map(({ arm, status, limitPercent }) => [arm, status, limitPercent]),
      [
        ['base', 'ok', 0.5],
        ['head', 'ok', 0.5],
      ],
    );
  });

  test('that were too few contaminate the cell, in whichever arm', () => {
    for (const arm of ['base', 'head']) {
      const verdict = verdictOf(plan, warming(plan, 0.03, arm));
      assert.equal(verdict.exitCode, 14);
      assert.deepEqual(codesOf(comparisonOf(verdict).reasons), ['warm-up-insufficient']);
      assert.match(
        only(comparisonOf(verdict).reasons).message,
        new RegExp(`${arm} \\+3.*raise .protocol.warmups`),
      );
    }
  });

  test('after which the engine slows down contaminate it as well', () => {
    const verdict = verdictOf(plan, warming(plan, -0.03));
    assert.match(only(comparisonOf(verdict).reasons).message, /slows down while it is measured/);
  });

  test('are not blamed for a change within a quarter of the budget', () => {
    assert.equal(verdictOf(plan, warming(plan, 0.004)).exitCode, 0);
  });

  test('below six rounds are told by a warning', () => {
    const four = planOf({ protocol: { looks: [4] } });
    const verdict = verdictOf(four, warming(four, 0.1));
    assert.equal(verdict.exitCode, 11);
    assert.ok(codesOf(verdict.warnings).includes('warm-up-insufficient'));
  });

  test('of a single sample cannot be judged', () => {
    const verdict = verdictOf(planOf({ protocol: { samples: 1 } }), times({}));
    assert.ok(controlsOf(verdict, 'warm-up').every(({ status }) => status === 'not-taken'));
    assert.equal(verdict.exitCode, 0);
  });
});
