/** Sentences count one thing as one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted } from '../../src/counted.js';
import { renderMarkdown } from '../../src/report/markdown.js';
import { renderTable } from '../../src/report/table.js';
import { makeJournal, makePlan, verdictOf } from '../fixtures/journal.js';

test('a number of things is told with the right word', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => counted(count, 'launch', 'es')),
    ['0 launches', '1 launch', '2 launches'],
  );
  assert.equal(counted(1, 'round'), '1 round');
});

test('no sentence of a small run says "1 rounds" or the like', () => {
  const things =
    'rounds|samples|launches|requests|warm-ups|cells|prompts|tokens|readings|pairs|positions|threads|arms|degrees of';
  const wrong = new RegExp(`(?<![\\d.,])1 (?:more )?(?:${things})\\b|\\b1 rounds? are\\b`);
  for (const looks of [1, 2, 5, 6]) {
    const plan = makePlan({
      protocol: { samples: 1, looks: [looks], nullRounds: looks > 1 ? 2 : 1 },
    });
    const verdict = verdictOf(plan);
    const context = { plan, entries: makeJournal(plan) };
    for (const text of [
      JSON.stringify(verdict),
      renderTable(verdict, context).replaceAll(/\s+/g, ' '),
      renderMarkdown(verdict, context),
    ])
      assert.doesNotMatch(text, wrong, `${looks} rounds`);
  }
});
