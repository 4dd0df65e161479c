import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokensDigest } from '../../../src/digest.js';
import { QualifyError } from '../../../src/errors.js';
import { promptDigest, promptTokens, saltTokens } from '../../../src/plan/prompts.js';
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
    const ids = promptTokens(plan, prompt.id, 'r00-0-base');
    assert.equal(ids.length, prompt.tokens);
    assert.ok(ids.every((id) => id < plan.vocabulary));
    assert.equal(tokensDigest(ids), promptDigest(plan, prompt.id, 'r00-0-base'));
    assert.equal(tokensDigest(ids) === prompt.sha256, prompt.kind !== 'warmup');
    assert.equal(tokensDigest(promptTokens(plan, prompt.id)), prompt.sha256);
  }
});

test('a warm-up begins otherwise in each launch of each session, and goes on alike', () => {
  const [id, launch] = ['64/32#warmup-0', 'r00-0-base'];
  const other = makePlan({ cells: [{ promptTokens: 64, chunk: 32 }] }, 'other-session');
  const drawn = [
    promptTokens(plan, id, launch),
    promptTokens(plan, id, 'r00-1-head'),
    promptTokens(plan, id, 'r01-1-base'),
    promptTokens(other, id, launch),
  ];
  assert.equal(new Set(drawn.map((ids) => ids.slice(0, saltTokens).join())).size, drawn.length);
  for (const ids of drawn) assert.ok(ids.slice(0, saltTokens).every((token) => token < plan.vocabulary));
  assert.equal(new Set(drawn.slice(0, 3).map((ids) => ids.slice(saltTokens).join())).size, 1);
  assert.deepEqual(
    [...promptTokens(plan, id, launch)],
    [...promptTokens(plan, id, launch)],
    'verify draws it again',
  );
});

test('every other prompt is the same in all launches', () => {
  const others = plan.prompts.filter(({ kind }) => kind !== 'warmup');
  for (const { id } of others)
    assert.deepEqual(promptTokens(plan, id, 'r00-0-base'), promptTokens(plan, id, 'r07-1-head'));
});

test('these are the ids: another version must not draw others', () => {
  assert.deepEqual(
    [...promptTokens(plan, '64/32#sample-0', 'r00-0-base').slice(0, 20)],
    [238, 56, 123, 79, 269, 321, 292, 440, 21, 30, 493, 225, 237, 436, 374, 181, 390, 165, 353, 240],
  );
});

test('no two prompts begin alike', () => {
  const salts = plan.prompts.map((prompt) =>
    promptTokens(plan, prompt.id, 'r00-0-base').slice(0, saltTokens).join(),
  );
  assert.equal(new Set(salts).size, salts.length);
});

test('the rest is skewed like text, not uniform', () => {
  const ids = plan.prompts.flatMap((prompt) => [
    ...promptTokens(plan, prompt.id, 'r00-0-base').slice(saltTokens),
  ]);
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const commonest = Math.max(...counts.values()) / ids.length;
  // 1 / H(512) = 14.7 %.
  assert.ok(commonest > 0.1 && commonest < 0.2, `${commonest}`);
});

test('another seed makes other prompts, and a changed digest is found out', () => {
  const other = { ...plan, seed: 'b'.repeat(64) };
  assert.throws(
    () => promptTokens(other, '64/32#sample-0', 'r00-0-base'),
    (error) => error instanceof QualifyError && error.exitCode === 16,
  );
  assert.throws(
    () => promptTokens(plan, 'nothing', 'r00-0-base'),
    (error) => error instanceof QualifyError && error.exitCode === 16,
  );
});
