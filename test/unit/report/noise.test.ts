/** What a report says of the spread of rounds, and of launches where pairs are too few. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderTable } from '../../../src/report/table.js';
import { type JournalOptions, makeJournal, makePlan, verdictOf } from '../../fixtures/journal.js';

/** Head is faster by 5 % and a little more each round; base by 1 % more each round. */
const options: JournalOptions = {
  ms: ({ arm, round, index }) =>
    (arm === 'base' ? 100 : 100 / (1.05 + 0.002 * round)) / (1 + 0.01 * round + 0.001 * index),
};

function reportOf(rounds: number): string {
  const plan = makePlan({ protocol: { looks: [rounds] } });
  const text = renderTable(verdictOf(plan, options), { plan, entries: makeJournal(plan, options) });
  return text.replaceAll(/\s+/g, ' ');
}

test('from three rounds on the spread between rounds is told, by the MAD with its small-sample factor', () => {
  assert.match(reportOf(6), /noise the ratio varies by 0\.\d+ % from round to round \(robust sigma\)/);
  assert.match(reportOf(3), /noise the ratio varies/);
  for (const few of [1, 2]) assert.doesNotMatch(reportOf(few), /noise the ratio/);
});

test('four and five rounds have exact bounds of the launches, with the level that they attain', () => {
  assert.match(
    reportOf(4),
    /launches \+5\.\d+ %, \+\d\.\d+ % to \+\d\.\d+ % \(Hodges-Lehmann, 97\.1 %; Mann-Whitney p 0\.029\), if nothing drifts; does not decide/,
  );
  assert.match(reportOf(5), /\(Hodges-Lehmann, 96\.8 %; Mann-Whitney p 0\.\d+\), if nothing drifts/);
});

test('fewer have none at a useful level, and from six on the pairs speak', () => {
  for (const rounds of [1, 2, 3, 6]) assert.doesNotMatch(reportOf(rounds), /Hodges-Lehmann/);
});
