/** A slowdown or a gain of an engine against itself: the noise of the machine, whatever its size. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { calibrationOf, recordOf } from '../../../src/analysis/calibration.js';
import { sha256 } from '../../../src/digest.js';
import { renderMarkdown } from '../../../src/report/markdown.js';
import { renderTable } from '../../../src/report/table.js';
import { type JournalOptions, makeJournal, makePlan, verdictOf } from '../../fixtures/journal.js';

const same = makePlan({ arms: { base: {}, head: {} } });
const apart = makePlan();

/** Head takes longer by a factor, with some noise. */
const times = (factor: number, size = 0.001): JournalOptions => ({
  ms: ({ arm, round }) =>
    100 * (arm === 'head' ? factor * (1 + size * ((round % 3) - 1)) : 1) * (1 + 1e-4 * (round % 2)),
});
const found = (plan: typeof same, options: JournalOptions) => {
  const verdict = verdictOf(plan, options);
  const comparison = verdict.cells[0]?.comparisons[0];
  assert.ok(comparison);
  return { verdict, comparison };
};
const place = {
  runFolder: '/runs/x',
  finishedAt: '2026-11-29T12:10:00Z',
  machineId: sha256('machine'),
  kernel: '6.1.0',
  cpu: 'A CPU',
};

describe('one engine in one configuration', () => {
  for (const [detail, factor, size] of [
    ['beyond-budget', 1.1, 0.001],
    ['slower-not-cleared', 1.02, 0.008],
  ] as const)
    test(`${detail} is a false alarm and no fail`, () => {
      assert.equal(found(apart, times(factor, size)).verdict.exitCode, 10);
      const { verdict, comparison } = found(same, times(factor, size));
      assert.deepEqual(
        [verdict.exitCode, verdict.cells[0]?.verdict, comparison.verdict, comparison.detail],
        [11, 'inconclusive', 'inconclusive', detail],
      );
      assert.deepEqual(comparison.reasons, [
        {
          code: 'false-alarm',
          message:
            "base and head are one engine in one configuration: this difference is the machine's noise; quiet it or raise the budget",
        },
      ]);
      assert.equal(comparison.effect?.roundsStillNeeded, null);
    });

  test('is not improved, and says why', () => {
    assert.equal(found(apart, times(0.9)).comparison.detail, 'improved');
    const { verdict, comparison } = found(same, times(0.9));
    assert.deepEqual([verdict.exitCode, comparison.detail], [0, 'neutral']);
    assert.deepEqual(
      comparison.reasons.map(({ code }) => code),
      ['false-alarm'],
    );
  });

  test('is neutral without a word where nothing differs', () => {
    const { comparison } = found(same, times(1));
    assert.deepEqual([comparison.detail, comparison.reasons], ['neutral', []]);
  });

  test('is said in the first lines of the report', () => {
    const run = { plan: same, entries: makeJournal(same, times(1.1)) };
    const { verdict } = found(same, times(1.1));
    const text = renderTable(verdict, run).split('\n').slice(0, 4).join(' ');
    assert.match(text, /INCONCLUSIVE \(exit 11\).* base and head build the same engine/);
    const markdown = renderMarkdown(verdict, run).split('\n').slice(0, 6).join(' ');
    assert.match(markdown, /INCONCLUSIVE.* base and head build the same engine/);
    assert.equal(renderTable(verdict, run).match(/build the same engine/g)?.length, 1);
  });

  test('counts as an alarm in a calibration, either way', () => {
    const records = [1.1, 0.9, 1].map((factor) => {
      const options = times(factor);
      return recordOf(same, makeJournal(same, options), verdictOf(same, options), place);
    });
    const { cells, failed, improved } = calibrationOf(records).alarms;
    assert.deepEqual({ cells, failed, improved }, { cells: 3, failed: 1, improved: 1 });
  });
});
