import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenanceOf } from '../../../src/report/context.js';
import { makeJournal, makePlan } from '../../fixtures/journal.js';

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
