import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observe } from '../../../src/analysis/observations.js';
import { PerLaunch } from '../../../src/analysis/per-launch.js';
import { makeJournal, makePlan } from '../../fixtures/journal.js';

test('what is found of a launch in a cell is asked for once, and for each of both', () => {
  const plan = makePlan({
    cells: [
      { promptTokens: 401, chunk: 512 },
      { promptTokens: 64, chunk: 32 },
    ],
  });
  const { launches } = observe(makeJournal(plan));
  const found = new PerLaunch<string[] | null>();
  let asked = 0;
  const ask = (): void => {
    for (const launch of launches)
      for (const cell of plan.cells)
        assert.deepEqual(
          found.of(launch, cell, () => {
            asked += 1;
            return cell.promptTokens > 64 ? [launch.id, cell.id] : null;
          }),
          cell.promptTokens > 64 ? [launch.id, cell.id] : null,
        );
  };
  ask();
  ask();
  assert.ok(launches.length > 1);
  assert.equal(asked, launches.length * plan.cells.length);
});
