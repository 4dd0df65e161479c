/** Arms of two engines: what they must share, and what says nothing across them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { PEER_REVISION } from '../../../src/matrix/engines.js';
import { alterWitness, type Draft, makePlan, verdictOf } from '../../fixtures/journal.js';

const plan = makePlan({
  model: { preset: 'unit', experts: 'q4_0', roundTrips: false },
  arms: { 'llama-cpp': { engine: 'node-llama-cpp' }, qualify: {} },
  protocol: {
    parity: 'bounded',
    bounded: { top1: 0.9, common: 0.9, meanLogProbability: 0.1 },
  },
});

/** Answers name likely ids; `other` changes the rest. */
const verdictWith = (other: (draft: Draft) => Draft = (draft) => draft) =>
  verdictOf(plan, {
    alter: (draft) => {
      const changed = other(draft);
      if (changed.kind !== 'sample') return changed;
      const { answer } = changed;
      const probabilities = answer.tokens.map((token) =>
        Array.from({ length: 10 }, (_, rank): [number, number] => [token + 1000 * rank, -0.1 - 3 * rank]),
      );
      return { ...changed, answer: { ...answer, logitsSha256: null, probabilities } };
    },
  });

const codes = (verdict: ReturnType<typeof verdictWith>): string[] =>
  verdict.cells[0]?.comparisons[0]?.reasons.map(({ code }) => code) ?? [];

describe('arms of two engines', () => {
  test('name the release of the package in the plan, and nothing where it is ours', () => {
    assert.deepEqual(
      plan.arms.map(({ engine, revision }) => [engine, revision]),
      [
        ['node-llama-cpp', PEER_REVISION],
        ['embedded', 'worktree'],
      ],
    );
  });

  test('are compared though builds, recipes, switches and names of instruction sets differ', () => {
    const peer = alterWitness('llama-cpp', { isa: 'haswell', switches: {} });
    const verdict = verdictWith((draft) =>
      draft.kind === 'build' && draft.arms.includes('llama-cpp')
        ? { ...draft, recipeDigest: sha256('npm ci'), toolchain: { node: 'v20' } }
        : peer(draft),
    );
    assert.equal(verdict.result, 'pass', JSON.stringify(verdict.reasons));
    assert.equal(verdict.cells[0]?.comparisons[0]?.parity.status, 'within');
  });

  test('are refused for another model, other threads, or an instruction set that changes between launches', () => {
    assert.ok(
      codes(verdictWith(alterWitness('llama-cpp', { modelSha256: sha256('other') }))).includes(
        'model-differs',
      ),
    );
    assert.deepEqual(codes(verdictWith(alterWitness('llama-cpp', { threads: 3 }))), ['threads-differs']);
    const once = (draft: Draft): Draft =>
      draft.kind === 'ready' && draft.launch === 'r2-llama-cpp'
        ? { ...draft, witness: { ...draft.witness, isa: 'zen4' } }
        : draft;
    assert.deepEqual(codes(verdictWith(once)), ['isa-differs']);
  });

  test('are held to their own builds', () => {
    const other = alterWitness('llama-cpp', { buildDigest: sha256('other') });
    assert.ok(codes(verdictWith(other)).includes('build-differs'));
  });
});
