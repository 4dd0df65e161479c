/** Which controls a verdict lists. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { planOf } from '../../fixtures/control-journal.js';
import { alterAnswers, verdictOf } from '../../fixtures/journal.js';

describe('the list of controls', () => {
  test('has every control of every cell', () => {
    const plan = planOf({
      cells: [
        { promptTokens: 64, chunk: 32 },
        { promptTokens: 96, chunk: 32 },
      ],
    });
    const { controls } = verdictOf(plan);
    const names = ['null', 'warm-up', 'warm-up', 'slot', 'order'];
    assert.deepEqual(
      controls.map(({ cell, name }) => [cell, name]),
      ['64/32', '96/32'].flatMap((cell) => names.map((name) => [cell, name])),
    );
  });

  test('is silent on a cell that lacks a proof', () => {
    const alter = alterAnswers(
      () => true,
      () => ({ cacheN: 1 }),
    );
    assert.deepEqual(verdictOf(planOf(), { alter }).controls, []);
  });
});
