/** Outputs that differ, or that prove nothing, are refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { alterAnswers, makePlan, verdictOf } from '../../fixtures/journal.js';
import { type Case, inHead, refused, refusesEach } from '../../fixtures/refused.js';

const alikeOutputs: Case[] = [
  [
    'other tokens',
    'parity-failed',
    'outputs-differ',
    13,
    alterAnswers(inHead, ({ answer }) => ({ tokens: answer.tokens.map((t) => t + 1) })),
  ],
  [
    'other logits under the same tokens',
    'parity-failed',
    'outputs-differ',
    13,
    alterAnswers(inHead, ({ prompt }) => ({ logitsSha256: sha256(prompt) })),
  ],
  [
    'one output for all prompts',
    'parity-failed',
    'vacuous-outputs',
    13,
    alterAnswers(
      () => true,
      ({ answer }) => ({ tokens: answer.tokens.map((_, i) => i), logitsSha256: sha256('same') }),
    ),
  ],
  [
    'outputs of one token repeated',
    'parity-failed',
    'vacuous-outputs',
    13,
    alterAnswers(
      () => true,
      ({ answer }) => ({ tokens: answer.tokens.map(() => 7) }),
    ),
  ],
  [
    'logits that are no numbers, in both arms alike',
    'parity-failed',
    'non-finite-logits',
    13,
    alterAnswers(
      ({ purpose }) => purpose === 'parity',
      () => ({ nonFiniteLogits: 3 }),
    ),
  ],
  [
    'logits that are not given',
    'unsupported',
    'logits-absent',
    12,
    alterAnswers(inHead, () => ({ logitsSha256: null })),
  ],
  [
    'an arm that does not agree with itself',
    'inconclusive',
    'not-deterministic',
    11,
    alterAnswers(inHead, ({ launch }) => ({ logitsSha256: sha256(launch) })),
  ],
];

describe('outputs that differ or prove nothing', () => refusesEach(alikeOutputs));

describe('parity by tokens', () => {
  const tokens = makePlan({
    protocol: { parity: 'tokens' },
  });

  test('does not look at logits', () => {
    const alter = alterAnswers(inHead, () => ({ logitsSha256: null }));
    const verdict = verdictOf(tokens, { alter });
    assert.equal(verdict.result, 'pass');
    assert.equal(verdict.cells[0]?.comparisons[0]?.parity.level, 'tokens');
  });

  test('sees through the published hash of "1 2 3 … 16": one output, whatever the prompt', () => {
    const alter = alterAnswers(
      () => true,
      ({ answer }) => ({ tokens: answer.tokens.map((_, i) => 49 + i) }),
    );
    refused(verdictOf(tokens, { alter }), 'parity-failed', 'vacuous-outputs', 13);
  });

  test('refuses long outputs that go round in a circle', () => {
    const long = makePlan({
      cells: [{ promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 128 }],
      protocol: { parity: 'tokens' },
    });
    assert.equal(verdictOf(long).result, 'pass');
    const alter = alterAnswers(
      () => true,
      ({ answer, index }) => ({ tokens: answer.tokens.map((_, i) => (i + index) % 5) }),
    );
    refused(verdictOf(long, { alter }), 'parity-failed', 'vacuous-outputs', 13);
  });
});
