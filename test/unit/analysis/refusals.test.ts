/** Every proof that can be missing is missed: one change to a good journal, one verdict, no rate shown. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import type { Verdict, VerdictName } from '../../../src/verdict/schema.js';
import {
  alterAnswers,
  alterWitness,
  type Draft,
  type JournalOptions,
  makePlan,
  SWITCH,
  verdictOf,
} from '../../fixtures/journal.js';

const plan = makePlan();
const firstSample = plan.prompts.find(({ kind }) => kind === 'sample');

/** Warnings, but for the null arm that the plans of these tests do without. */
const warningsOf = ({ warnings }: Verdict): Verdict['warnings'] =>
  warnings.filter(({ code }) => code !== 'no-null-arm');

/** Asserts the verdict, the reason, and that nothing unproved is shown. */
function refused(verdict: Verdict, name: VerdictName, code: string, exitCode: number): void {
  const [cell] = verdict.cells;
  const [comparison] = cell?.comparisons ?? [];
  assert.equal(comparison?.verdict, name);
  assert.ok(
    comparison.reasons.some((reason) => reason.code === code),
    `${JSON.stringify(comparison.reasons)} lacks ${code}`,
  );
  assert.equal(comparison.effect, null);
  assert.deepEqual(cell?.arms, {});
  assert.equal(cell?.verdict, name);
  assert.equal(verdict.result, name);
  assert.equal(verdict.exitCode, exitCode);
}

const launchOf = (draft: Draft): string => ('launch' in draft && draft.launch !== null ? draft.launch : '');
const inHead = (draft: Draft): boolean => launchOf(draft).endsWith('-head');

const cases: [string, VerdictName, string, number, JournalOptions['alter']][] = [
  // Coldness
  ['a cache hit', 'cold-unproved', 'cache-hit', 14, alterAnswers(inHead, () => ({ cacheN: 16 }))],
  [
    'a cache count that is absent',
    'cold-unproved',
    'cache-count-absent',
    14,
    alterAnswers(inHead, () => ({ cacheN: null })),
  ],
  [
    'a prompt that was not evaluated whole',
    'cold-unproved',
    'prompt-not-evaluated',
    14,
    alterAnswers(inHead, () => ({ promptN: 63 })),
  ],
  [
    'a token that the engine adds',
    'cold-unproved',
    'tokens-added',
    14,
    alterAnswers(inHead, () => ({ promptN: 65 })),
  ],
  [
    'no positive control',
    'cold-unproved',
    'control-missing',
    14,
    (draft) => (draft.kind === 'control' && inHead(draft) ? null : draft),
  ],
  [
    'a positive control without reuse',
    'cold-unproved',
    'control-without-reuse',
    14,
    (draft) => (draft.kind === 'control' ? { ...draft, second: { ...draft.second, cacheN: 0 } } : draft),
  ],
  // Times
  [
    'a time that no clock can tell',
    'cold-unproved',
    'time-too-short',
    14,
    alterAnswers(inHead, () => ({ promptCpuMs: 0.001 })),
  ],
  [
    'a server time beyond the client',
    'cold-unproved',
    'time-beyond-client',
    14,
    alterAnswers(inHead, () => ({ clientMs: 20 })),
  ],
  [
    'a speed that no arithmetic allows',
    'cold-unproved',
    'impossible-speed',
    14,
    alterAnswers(inHead, () => ({ promptCpuMs: 0.2 })),
  ],
  // Identity of arms
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
  // The machine
  [
    'swapping',
    'contaminated',
    'swapping',
    14,
    (draft) => (draft.kind === 'load' ? { ...draft, swapIns: 5000 } : draft),
  ],
  [
    'an engine that waits for the disk',
    'contaminated',
    'major-faults',
    14,
    (draft) => (draft.kind === 'load' && inHead(draft) ? { ...draft, majorFaults: 65 } : draft),
  ],
  [
    'a process that outlived its engine',
    'contaminated',
    'stray-child',
    14,
    (draft) => (draft.kind === 'stop' && inHead(draft) ? { ...draft, left: ['sh', 'sleep'] } : draft),
  ],
  ['an unknown load', 'contaminated', 'load-unknown', 14, (draft) => (draft.kind === 'load' ? null : draft)],
  // Parity
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
  // What is missing
  [
    'one sample missing',
    'not-measured',
    'samples-missing',
    12,
    (draft) => (draft.kind === 'sample' && launchOf(draft) === 'r3-head' && draft.index === 2 ? null : draft),
  ],
  [
    'a sample taken twice in place of another',
    'not-measured',
    'samples-missing',
    12,
    (draft) =>
      draft.kind === 'sample' && inHead(draft) && draft.purpose === 'sample' && draft.index === 2
        ? { ...draft, prompt: firstSample?.id ?? '', promptSha256: firstSample?.sha256 ?? '' }
        : draft,
  ],
  [
    'an output that ended early',
    'not-measured',
    'early-stop',
    12,
    alterAnswers(
      () => true,
      () => ({ predictedN: 0, tokens: [] }),
    ),
  ],
  [
    'a count of tokens that is not the number of tokens',
    'not-measured',
    'early-stop',
    12,
    alterAnswers(inHead, ({ answer }) => ({ predictedN: answer.predictedN + 1 })),
  ],
  [
    'no time by the clock that decides',
    'not-measured',
    'clock-absent',
    12,
    alterAnswers(inHead, () => ({ promptCpuMs: null })),
  ],
  [
    'a launch missing',
    'not-measured',
    'rounds-missing',
    12,
    (draft) => (launchOf(draft) === 'r5-head' ? null : draft),
  ],
  [
    'a launch that was repeated',
    'not-measured',
    'launched-twice',
    12,
    (draft) => (draft.kind === 'launch' && draft.launch === 'r5-head' ? { ...draft, round: 4 } : draft),
  ],
  [
    'a launch that died',
    'not-measured',
    'launch-unfinished',
    12,
    (draft) => (draft.kind === 'stop' && inHead(draft) ? { ...draft, how: 'died' } : draft),
  ],
];

describe('a proof that is missing', () => {
  test('nothing is refused while every proof is there', () => {
    const verdict = verdictOf(plan);
    assert.equal(verdict.result, 'pass');
    assert.equal(verdict.exitCode, 0);
    assert.equal(verdict.cells[0]?.arms.head?.n, 18);
    assert.deepEqual(warningsOf(verdict), []);
  });

  for (const [what, name, code, exitCode, alter] of cases) {
    test(`${what} is ${name}`, () =>
      refused(verdictOf(plan, alter === undefined ? {} : { alter }), name, code, exitCode));
  }
});

describe('what is no missing proof', () => {
  const alike: [string, JournalOptions['alter']][] = [
    ["a chunk that is the cell's", alterAnswers(inHead, () => ({ chunk: 32 }))],
    ['logits that are all numbers', alterAnswers(inHead, () => ({ nonFiniteLogits: 0 }))],
    [
      'a page now and then from the disk',
      (draft) => (draft.kind === 'load' ? { ...draft, majorFaults: 64 } : draft),
    ],
    [
      'a warm-up that another launch answers in another way: its prompt is another',
      alterAnswers(
        ({ purpose }) => purpose === 'warmup',
        ({ launch }) => ({ logitsSha256: sha256(launch) }),
      ),
    ],
  ];
  for (const [what, alter] of alike) {
    test(what, () => assert.equal(verdictOf(plan, alter === undefined ? {} : { alter }).result, 'pass'));
  }

  test('chunks that are all longer than the prompt', () => {
    const short = makePlan({ cells: [{ promptTokens: 64, chunk: 512 }] });
    assert.equal(verdictOf(short, { alter: alterAnswers(inHead, () => ({ chunk: 64 })) }).result, 'pass');
  });
});

describe('failures of the machinery', () => {
  const failing = (code: string): JournalOptions => ({
    rounds: 2,
    alter: (draft) =>
      draft.kind === 'end' ? { kind: 'failure', launch: null, code, message: 'it broke' } : draft,
  });

  test('a failure before the look is infrastructure', () => {
    refused(verdictOf(plan, failing('ERR_QUALIFY_ENGINE_DIED')), 'infrastructure', 'engine-died', 15);
  });

  test('an interruption measured nothing, and broke nothing', () => {
    refused(verdictOf(plan, failing('ERR_QUALIFY_INTERRUPTED')), 'not-measured', 'interrupted', 12);
  });

  test('a failed build is infrastructure, not "nothing measured"', () => {
    const alter = (draft: Draft): Draft | null => {
      if (draft.kind === 'end')
        return { kind: 'failure', launch: null, code: 'ERR_QUALIFY_BUILD_FAILED', message: 'no' };
      return draft.kind === 'session' ? draft : null;
    };
    refused(verdictOf(plan, { alter }), 'infrastructure', 'build-failed', 15);
  });

  test('a journal without its end is not measured, even when every cell is there', () => {
    const verdict = verdictOf(plan, { alter: (draft) => (draft.kind === 'end' ? null : draft) });
    assert.equal(verdict.cells[0]?.verdict, 'pass');
    assert.equal(verdict.result, 'not-measured');
    assert.equal(verdict.reasons[0]?.code, 'session-incomplete');
  });

  test('an empty journal is not measured', () => {
    const verdict = verdictOf(plan, { alter: (draft) => (draft.kind === 'session' ? draft : null) });
    assert.equal(verdict.result, 'not-measured');
    assert.equal(verdict.exitCode, 12);
  });

  test('a cache hit in a session that broke is still a cache hit', () => {
    const broken = failing('ERR_QUALIFY_ENGINE_DIED').alter ?? ((draft: Draft) => draft);
    const hit = alterAnswers(inHead, () => ({ cacheN: 3 }));
    const verdict = verdictOf(plan, { rounds: 2, alter: (draft) => broken(hit(draft)) });
    assert.equal(verdict.result, 'cold-unproved');
  });
});

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

describe('load and clocks', () => {
  const loaded = (draft: Draft): Draft =>
    draft.kind === 'load' ? { ...draft, foreignCpuShare: 0.6 } : draft;

  test('foreign load voids wall time and is mentioned under CPU time', () => {
    const wall = makePlan({ protocol: { warmups: 1, samples: 3, looks: [6], clock: 'wall' } });
    refused(verdictOf(wall, { alter: loaded }), 'contaminated', 'foreign-load', 14);
    const verdict = verdictOf(plan, { alter: loaded });
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(
      warningsOf(verdict).map(({ code }) => code),
      ['foreign-load'],
    );
  });

  test('what an ordinary quiet machine does beside the engine does not void wall time', () => {
    const wall = makePlan({ protocol: { warmups: 1, samples: 3, looks: [6], clock: 'wall' } });
    const quiet = (draft: Draft): Draft =>
      draft.kind === 'load' ? { ...draft, foreignCpuShare: 0.2, swapIns: 200 } : draft;
    const verdict = verdictOf(wall, { alter: quiet });
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(warningsOf(verdict), []);
  });

  test('clocks that are apart by more than 2 % and 5 ms are mentioned', () => {
    const alter = alterAnswers(inHead, ({ answer }) => ({ clientMs: answer.clientMs + 6 }));
    assert.deepEqual(
      warningsOf(verdictOf(plan, { alter })).map(({ code }) => code),
      ['clocks-apart'],
    );
    const close = alterAnswers(inHead, ({ answer }) => ({ clientMs: answer.clientMs + 4 }));
    assert.deepEqual(warningsOf(verdictOf(plan, { alter: close })), []);
  });
});

describe('parity by tokens', () => {
  const tokens = makePlan({
    protocol: { warmups: 1, samples: 3, looks: [6], clock: 'cpu', parity: 'tokens' },
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
      protocol: { warmups: 1, samples: 3, looks: [6], clock: 'cpu', parity: 'tokens' },
    });
    assert.equal(verdictOf(long).result, 'pass');
    const alter = alterAnswers(
      () => true,
      ({ answer, index }) => ({ tokens: answer.tokens.map((_, i) => (i + index) % 5) }),
    );
    refused(verdictOf(long, { alter }), 'parity-failed', 'vacuous-outputs', 13);
  });
});
