/** Arms that are not what they should be are refused: builds, models, threads, prompts, switches. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import {
  alterAnswers,
  alterWitness,
  type Draft,
  makePlan,
  SWITCH,
  verdictOf,
} from '../../fixtures/journal.js';
import { type Case, inHead, refused, refusesEach, warningsOf } from '../../fixtures/refused.js';

const matched: Case[] = [
  [
    'an engine that is wrong on purpose',
    'unmatched',
    'fault-planted',
    14,
    alterWitness('head', { plantedFault: 'half-context' }),
  ],
  ['a stranger on the port', 'unmatched', 'nonce-differs', 14, alterWitness('head', { nonce: 'other' })],
  ['another build', 'unmatched', 'build-differs', 14, alterWitness('head', { buildDigest: sha256('other') })],
  ['another model', 'unmatched', 'model-differs', 14, alterWitness('head', { modelSha256: sha256('other') })],
  ['another number of threads', 'unmatched', 'threads-differs', 14, alterWitness('head', { threads: 3 })],
  ['another instruction set', 'unmatched', 'isa-differs', 14, alterWitness('head', { isa: 'portable' })],
  [
    'another tokenizer',
    'unmatched',
    'tokenizer-differs',
    14,
    (draft) =>
      draft.kind === 'ready'
        ? { ...draft, witness: { ...draft.witness, tokenizerSha256: sha256(`${inHead(draft)}`) } }
        : draft,
  ],
  [
    'a chunk that the cell does not have',
    'unmatched',
    'chunk-differs',
    14,
    alterAnswers(inHead, ({ index }) => ({ chunk: index === 0 ? 32 : 48 })),
  ],
  [
    'a switch that was not applied',
    'unmatched',
    'switch-not-applied',
    14,
    alterWitness('head', { switches: { [SWITCH]: '0' } }),
  ],
  [
    'a switch that the engine does not know',
    'unmatched',
    'switch-not-applied',
    14,
    alterWitness('head', { switches: {} }),
  ],
  [
    'a variable nobody asked for',
    'unmatched',
    'switch-not-asked',
    14,
    (draft) =>
      draft.kind === 'launch' && inHead(draft)
        ? { ...draft, environment: { ...draft.environment, GGML_CUDA_MMQ_MOE_PERSISTENT: '1' } }
        : draft,
  ],
  [
    'a default that differs between the arms',
    'unmatched',
    'switch-differs',
    14,
    alterWitness('head', { switches: { [SWITCH]: '1', DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS: '512' } }),
  ],
  [
    'no witness',
    'unmatched',
    'witness-missing',
    14,
    (draft) => (draft.kind === 'ready' && inHead(draft) ? null : draft),
  ],
  ['no build', 'unmatched', 'build-unknown', 14, (draft) => (draft.kind === 'build' ? null : draft)],
  ['no model', 'unmatched', 'model-unknown', 14, (draft) => (draft.kind === 'model' ? null : draft)],
  [
    'another prompt than planned',
    'unmatched',
    'prompt-differs',
    14,
    (draft) =>
      draft.kind === 'sample' && inHead(draft) ? { ...draft, promptSha256: sha256('other') } : draft,
  ],
  [
    'kernels that ran though their switch was off',
    'unmatched',
    'switch-without-effect',
    14,
    (draft) => (draft.kind === 'counters' ? { ...draft, counters: { 'mmid.grouped.down': 1 } } : draft),
  ],
  [
    'kernels that never ran though their switch was on',
    'unmatched',
    'switch-without-effect',
    14,
    (draft) => (draft.kind === 'counters' ? { ...draft, counters: { 'mmid.serial.expert': 5 } } : draft),
  ],
  ['no counters', 'unmatched', 'counters-missing', 14, (draft) => (draft.kind === 'counters' ? null : draft)],
];

describe('arms that are not what they should be', () => refusesEach(matched));

describe('two revisions', () => {
  const revisions = makePlan({ arms: { base: { revision: 'main' }, head: { revision: 'feature' } } });
  const build =
    (change: (draft: Extract<Draft, { kind: 'build' }>) => Partial<Extract<Draft, { kind: 'build' }>>) =>
    (draft: Draft): Draft =>
      draft.kind === 'build' ? { ...draft, ...change(draft) } : draft;

  test('are compared when their binaries differ', () => {
    assert.equal(verdictOf(revisions).result, 'pass');
  });

  test('of two trees with one binary are refused', () => {
    const alter = build(() => ({ binarySha256: sha256('one') }));
    refused(verdictOf(revisions, { alter }), 'unmatched', 'binary-identical', 14);
  });

  const oneEngine =
    (tree: string, binary: string) =>
    (draft: Draft): Draft => {
      if (draft.kind === 'build')
        return {
          ...draft,
          buildDigest: binary,
          binarySha256: binary,
          revision: { ...draft.revision, tree },
        };
      return draft.kind === 'ready'
        ? { ...draft, witness: { ...draft.witness, buildDigest: binary } }
        : draft;
    };

  test('that hold the same engine are compared, and said to be one', () => {
    const verdict = verdictOf(revisions, { alter: oneEngine(sha256('one tree'), sha256('one binary')) });
    assert.equal(verdict.result, 'pass');
    assert.equal(verdict.cells[0]?.comparisons[0]?.detail, 'neutral');
    assert.deepEqual(warningsOf(verdict), [
      {
        code: 'same-engine',
        message: 'base and head build the same engine: this compares it with itself',
      },
    ]);
  });

  test('that are one prebuilt binary in two folders are refused: nobody knows their sources', () => {
    const binary = sha256('one binary');
    refused(verdictOf(revisions, { alter: oneEngine(binary, binary) }), 'unmatched', 'binary-identical', 14);
  });

  test('with one tree and two binaries are refused', () => {
    const alter = build(({ revision }) => ({ revision: { ...revision, tree: sha256('one tree') } }));
    refused(verdictOf(revisions, { alter }), 'unmatched', 'binary-differs', 14);
  });

  test('by two recipes, or two sets of tools, are refused', () => {
    const recipe = build(({ arms }) => ({ recipeDigest: sha256(arms.join()) }));
    refused(verdictOf(revisions, { alter: recipe }), 'unmatched', 'recipe-differs', 14);
    const tools = build(({ arms }) => ({ toolchain: { cmake: arms.join() } }));
    refused(verdictOf(revisions, { alter: tools }), 'unmatched', 'toolchain-differs', 14);
  });

  test('of one tree are compared where the matrix sets them apart', () => {
    const apart = makePlan({
      arms: {
        base: { revision: 'main', switches: { [SWITCH]: '0' } },
        head: { revision: 'HEAD', switches: { [SWITCH]: '1' } },
      },
    });
    const verdict = verdictOf(apart, { alter: oneEngine(sha256('one tree'), sha256('one binary')) });
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(warningsOf(verdict), []);
  });
});

describe('kernels that a switch promises', () => {
  const idle = (draft: Draft): Draft =>
    draft.kind === 'counters' && inHead(draft)
      ? { ...draft, counters: { 'mmid.serial.expert': 160 } }
      : draft;
  const arms = (base: Record<string, string>, head: Record<string, string>) =>
    makePlan({ arms: { base: { revision: 'main', switches: base }, head: { switches: head } } });

  test('must run in a binary of its own, too', () => {
    const asked = arms({ [SWITCH]: '0' }, { [SWITCH]: '1' });
    assert.equal(verdictOf(asked).result, 'pass');
    refused(verdictOf(asked, { alter: idle }), 'unmatched', 'switch-without-effect', 14);
    const alike = arms({ [SWITCH]: '1' }, { [SWITCH]: '1' });
    refused(verdictOf(alike, { alter: idle }), 'unmatched', 'switch-without-effect', 14);
    const silent = (draft: Draft) => (draft.kind === 'counters' ? null : draft);
    refused(verdictOf(asked, { alter: silent }), 'unmatched', 'counters-missing', 14);
  });

  test('must run where the defaults of two binaries differ in it', () => {
    const off = alterWitness('base', { switches: { [SWITCH]: '0' } });
    refused(verdictOf(arms({}, {}), { alter: off }), 'unmatched', 'switch-without-effect', 14);
  });

  test('may rest where neither arm asks for them and both have them on', () =>
    assert.equal(verdictOf(arms({}, {}), { alter: idle }).result, 'pass'));
});

describe('other switches', () => {
  const other = makePlan({
    arms: {
      base: { switches: { DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS: '512' } },
      head: { switches: { DFLASH_MOE_EXPERT_MAJOR_MIN_TOKENS: '32' } },
    },
  });

  test('must change some counter', () => {
    refused(verdictOf(other), 'unmatched', 'switch-without-effect', 14);
    const alter = (draft: Draft): Draft =>
      draft.kind === 'counters' && inHead(draft)
        ? { ...draft, counters: { ...draft.counters, persistent: 3 } }
        : draft;
    assert.equal(verdictOf(other, { alter }).result, 'pass');
  });

  test('one arm against itself is a control, and passes', () => {
    const twins = makePlan({ arms: { base: {}, twin: {} } });
    const verdict = verdictOf(twins);
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(
      warningsOf(verdict).map(({ code }) => code),
      ['same-engine'],
    );
  });
});
