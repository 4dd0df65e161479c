import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokensDigest } from '../../../src/digest.js';
import { QualifyError } from '../../../src/errors.js';
import { promptTokens, saltTokens } from '../../../src/plan/prompts.js';
import { makePlan } from '../../fixtures/journal.js';

const plan = makePlan({
  cells: [
    { promptTokens: 401, chunk: 512 },
    { promptTokens: 64, chunk: 32 },
  ],
});

test('a plan has warm-ups, samples and a parity prompt a cell, and one control on the shortest', () => {
  assert.deepEqual(
    plan.prompts.map((prompt) => prompt.id),
    [
      '64/32#control',
      ...['401/512', '64/32'].flatMap((cell) =>
        ['warmup-0', 'sample-0', 'sample-1', 'sample-2', 'parity-0'].map((name) => `${cell}#${name}`),
      ),
    ],
  );
});

test('prompts have their exact length, ordinary ids, and the digest of the plan', () => {
  for (const prompt of plan.prompts) {
    const ids = promptTokens(plan, prompt.id);
    assert.equal(ids.length, prompt.tokens);
    assert.ok(ids.every((id) => id < plan.vocabulary));
    assert.equal(tokensDigest(ids), prompt.sha256);
  }
});

test('these are the ids: another version must not draw others', () => {
  assert.deepEqual(
    [...promptTokens(plan, '64/32#sample-0').slice(0, 20)],
    [238, 56, 123, 79, 269, 321, 292, 440, 21, 30, 493, 225, 237, 436, 374, 181, 390, 165, 353, 240],
  );
});

test('no two prompts begin alike', () => {
  const salts = plan.prompts.map((prompt) => promptTokens(plan, prompt.id).slice(0, saltTokens).join());
  assert.equal(new Set(salts).size, salts.length);
});

test('the rest is skewed like text, not uniform', () => {
  const ids = plan.prompts.flatMap((prompt) => [...promptTokens(plan, prompt.id).slice(saltTokens)]);
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const commonest = Math.max(...counts.values()) / ids.length;
  // 1 / H(512) = 14.7 %.
  assert.ok(commonest > 0.1 && commonest < 0.2, `${commonest}`);
});

test('another seed makes other prompts, and a changed digest is found out', () => {
  const other = { ...plan, seed: 'b'.repeat(64) };
  assert.throws(
    () => promptTokens(other, '64/32#sample-0'),
    (error) => error instanceof QualifyError && error.exitCode === 16,
  );
  assert.throws(
    () => promptTokens(plan, 'nothing'),
    (error) => error instanceof QualifyError && error.exitCode === 16,
  );
});
