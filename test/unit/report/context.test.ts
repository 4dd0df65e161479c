import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenanceOf } from '../../../src/report/context.js';
import { renderHtml } from '../../../src/report/html/page.js';
import { renderMarkdown } from '../../../src/report/markdown.js';
import { renderTable } from '../../../src/report/table.js';
import { makeChallenge } from '../../fixtures/challenge.js';
import { makeJournal, makePlan, verdictOf } from '../../fixtures/journal.js';

function armTexts(base: string, head: string): Record<string, string> {
  const made = makePlan({
    arms: { base: { revision: base }, head: { revision: head, plantedSlowdownPercent: 3 } },
  });
  const arms = made.arms.filter(({ control }) => control === undefined);
  const [reference] = arms;
  assert.ok(reference);
  const plan = { ...made, arms: [...arms, { ...reference, name: 'null', control: 'null' as const }] };
  const entries = makeJournal(plan, { rounds: 0 });
  const lines = provenanceOf({ plan, entries }).filter(({ label }) => label.startsWith('arm '));
  return Object.fromEntries(lines.map(({ label, text }) => [label, text]));
}

test('the provenance says which arm was slowed down, and that the null arm runs a build of its own', () => {
  const texts = armTexts('main', 'HEAD');
  assert.match(texts['arm head'] ?? '', /PLANTED slowdown of 3 %/);
  assert.doesNotMatch(texts['arm base'] ?? '', /PLANTED|elsewhere/);
  assert.match(texts['arm null'] ?? '', /built once more elsewhere/);
});

test('what somebody else built is not built again but copied, and called so', () => {
  const texts = armTexts('prebuilt:/one', 'prebuilt:/two');
  assert.match(texts['arm null'] ?? '', /a copy elsewhere/);
});

test('a run that answers a challenge says so in one line of table and page, and that this confirms nothing; another says nothing of it', async () => {
  const plan = makePlan();
  const asked = { ...plan, challenge: makeChallenge({}, { repository: 'https://example.org/a_b' }) };
  const rendersOf = async (own: typeof plan): Promise<string[]> => {
    const context = { plan: own, entries: makeJournal(own) };
    const verdict = verdictOf(own);
    return [
      renderTable(verdict, context),
      renderMarkdown(verdict, context),
      await renderHtml(verdict, context),
    ].map((text) => text.replaceAll('<!-- -->', '').replaceAll('&#35;', '#').replaceAll(/\s+/g, ' '));
  };
  const says =
    /challenge for https:\/\/example\.org\/a_b#7, head c{12} and base b{12}, issued 2026-11-29T10:00:00\.000Z, expires .*?; whoever issued it confirms/g;
  const counts = (await rendersOf(asked)).map((text) => text.match(says)?.length);
  // Not the text that was signed; the page has it at its top and where everything that was compared is told.
  assert.deepEqual(counts, [1, undefined, 2]);
  for (const text of await rendersOf(plan)) assert.doesNotMatch(text, /challenge/);
});
