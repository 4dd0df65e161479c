import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tasksOf } from '../../../src/session/simulate-many.js';
import { scenarios } from '../../../src/simulation/scenario.js';

test('every matrix of every scenario is simulated once, whatever is left over by whole batches', () => {
  for (const matrices of [1, 250, 251, 1007]) {
    const tasks = tasksOf({ seed: 'x', matrices });
    const seen = new Set(
      tasks.flatMap(({ scenario, batch: { from, count } }) =>
        Array.from({ length: count }, (_, index) => `${scenario}:${from + index}`),
      ),
    );
    const total = tasks.reduce((sum, { batch }) => sum + batch.count, 0);
    assert.equal(total, scenarios.length * matrices);
    assert.equal(seen.size, total);
  }
});
