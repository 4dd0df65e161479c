import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { z } from 'zod';
import {
  gradeOracle,
  type OracleCell,
  type OracleOutput,
  type OraclePrompt,
  type OracleRule,
} from '../../../src/analysis/oracle.js';
import { tokensDigest } from '../../../src/digest.js';
import { tokenize } from '../../../src/engine/tokenizer.js';
import { harnessFolder } from '../../../src/harness.js';
import type { EntryOf } from '../../../src/journal/entries.js';
import { type PlantedFault, perFault, plantedFaults } from '../../../src/plan/planted-faults.js';
import { promptTokens } from '../../../src/plan/prompts.js';
import { alterAnswers, type JournalOptions, makePlan, verdictOf } from '../../fixtures/journal.js';

const counting = z
  .object({
    prompt: z.string(),
    cells: z.array(z.object({ promptTokens: z.int(), chunk: z.int() })),
    output: z.string(),
    outputSha256: z.string(),
  })
  .parse(
    JSON.parse(readFileSync(join(harnessFolder, 'test', 'fixtures', 'oracle', 'counting.json'), 'utf8')),
  );

/** Ids that depend on a word. */
const idsOf = (word: string, count = 16): number[] =>
  [...createHash('sha512').update(word).digest()].slice(0, count);

const outputOf = (word: string): OracleOutput => ({ tokens: idsOf(word), logitsSha256: `logits of ${word}` });

type Effect = 'changes' | 'logits only' | 'nothing' | 'no strike';

function promptWith(prompt: string, effects: Partial<Record<PlantedFault, Effect>> = {}): OraclePrompt {
  const healthy = outputOf(prompt);
  const faulty = perFault((fault) => {
    const effect = effects[fault] ?? 'changes';
    const changed = outputOf(`${prompt} with ${fault}`);
    const output =
      effect === 'changes'
        ? changed
        : effect === 'logits only'
          ? { ...healthy, logitsSha256: changed.logitsSha256 }
          : healthy;
    return { ...output, struck: effect === 'no strike' ? 0 : 3 };
  });
  return {
    prompt,
    promptTokens: 300,
    long: true,
    healthy,
    faulty,
  };
}

const cellOf = (cell: string, prompts: OraclePrompt[], required = true): OracleCell => ({
  cell,
  required,
  prompts,
});

const exact: OracleRule = { level: 'exact', minimumOutputTokens: 16 };
const tokens: OracleRule = { level: 'tokens', minimumOutputTokens: 16 };
const codes = (findings: readonly { code: string }[]) => findings.map(({ code }) => code);

describe('the grade of prompts', () => {
  test('is strong when each fault changes an output, and tells how the outputs look', () => {
    const graded = gradeOracle(exact, [cellOf('a', [promptWith('a#1'), promptWith('a#2')])]);
    assert.equal(graded.grade, 'strong');
    assert.deepEqual(graded.findings, []);
    assert.deepEqual(graded.outOfReach, []);
    const [first] = graded.cells[0]?.prompts ?? [];
    assert.equal(first?.grade, 'strong');
    assert.equal(first?.outputTokens, 16);
    assert.equal(first?.distinctTokens, new Set(idsOf('a#1')).size);
    assert.ok(first !== undefined && first.entropyBits > 3 && first.entropyBits <= 4);
  });

  test('compares what the level compares: bits of logits at exact, ids at tokens', () => {
    const cells = [cellOf('a', [promptWith('a#1', { 'expert-scale': 'logits only' })])];
    assert.equal(gradeOracle(exact, cells).grade, 'strong');
    const graded = gradeOracle(tokens, cells);
    assert.equal(graded.grade, 'partial');
    assert.equal(graded.faults['expert-scale'], 'missed');
    assert.deepEqual(codes(graded.findings), ['fault-missed']);
    assert.match(graded.findings[0]?.message ?? '', /cell a .*expert-scale.*or parity exact/);
  });

  test('lets one prompt of a cell see what another does not, but not one cell for another', () => {
    const blind = promptWith('a#1', { 'half-context': 'nothing' });
    assert.equal(gradeOracle(exact, [cellOf('a', [blind, promptWith('a#2')])]).grade, 'strong');
    const graded = gradeOracle(exact, [cellOf('a', [blind]), cellOf('b', [promptWith('b#1')])]);
    assert.equal(graded.faults['half-context'], 'missed');
    assert.equal(graded.findings.length, 1);
    assert.equal(graded.cells[0]?.prompts[0]?.grade, 'partial');
    const optional = gradeOracle(exact, [cellOf('a', [blind], false), cellOf('b', [promptWith('b#1')])]);
    assert.deepEqual([optional.grade, optional.findings], ['strong', []]);
  });

  test('is vacuous when one required cell sees nothing of what strikes it, whatever others see', () => {
    const blind = promptWith('a#1', { ...perFault(() => 'nothing'), 'dropped-window-key': 'no strike' });
    const cells = (required: boolean) => [cellOf('a', [blind], required), cellOf('b', [promptWith('b#1')])];
    const graded = gradeOracle(exact, cells(true));
    assert.deepEqual(
      graded.cells.map(({ grade }) => grade),
      ['vacuous', 'strong'],
    );
    assert.equal(graded.grade, 'vacuous');
    assert.equal(graded.findings.length, 4);
    assert.equal(gradeOracle(exact, cells(false)).grade, 'strong');
  });

  test('neither praises nor blames a cell for a fault that cannot strike it', () => {
    const brief = promptWith('a#1', { 'dropped-topk-entry': 'no strike' });
    const graded = gradeOracle(exact, [cellOf('a', [brief]), cellOf('b', [promptWith('b#1')])]);
    assert.equal(graded.cells[0]?.faults['dropped-topk-entry'], 'cannot-strike');
    assert.equal(graded.cells[0]?.prompts[0]?.grade, 'partial');
    assert.deepEqual([graded.grade, graded.findings], ['strong', []]);
  });

  test('calls a fault that only an optional cell could see missed, and one that none could out of reach', () => {
    const brief = promptWith('a#1', { 'dropped-topk-entry': 'no strike' });
    const optional = gradeOracle(exact, [cellOf('a', [brief]), cellOf('b', [promptWith('b#1')], false)]);
    assert.equal(optional.faults['dropped-topk-entry'], 'missed');
    assert.match(optional.findings[0]?.message ?? '', /no required cell is reached .*cell b is/);
    const alone = gradeOracle(exact, [cellOf('a', [brief])]);
    assert.deepEqual([alone.grade, alone.findings], ['partial', []]);
    assert.deepEqual(alone.outOfReach, ['dropped-topk-entry']);
  });

  test('is vacuous when nothing strikes, when nothing is caught, and when the outputs prove nothing', () => {
    const all = (effect: Effect) => perFault(() => effect);
    const untouched = gradeOracle(exact, [cellOf('a', [promptWith('a#1', all('no strike'))])]);
    assert.equal(untouched.grade, 'vacuous');
    assert.deepEqual(codes(untouched.findings), ['fault-missed']);
    const blind = gradeOracle(exact, [cellOf('a', [promptWith('a#1', all('nothing'))])]);
    assert.equal(blind.grade, 'vacuous');
    assert.equal(blind.findings.length, plantedFaults.length);
    const short = { ...promptWith('a#1'), healthy: { tokens: [1, 2, 3], logitsSha256: 'x' } };
    const graded = gradeOracle(exact, [cellOf('a', [short])]);
    assert.equal(graded.grade, 'vacuous');
    assert.deepEqual(codes(graded.findings), ['vacuous-outputs']);
  });

  test('at level bounded holds the distance against the limits of the matrix', () => {
    const named = (shift: number) =>
      idsOf('a', 16).map((id) =>
        Array.from({ length: 10 }, (_, rank): [number, number] => [id + 300 * rank, -0.5 - rank - shift]),
      );
    const given = promptWith('a#1');
    const healthy = { tokens: idsOf('a'), logitsSha256: null, probabilities: named(0) };
    const faulty = perFault(() => ({ ...healthy, probabilities: named(0.1), struck: 1 }));
    const cells = [cellOf('a', [{ ...given, healthy, faulty }])];
    const rule = (meanLogProbability: number): OracleRule => ({
      level: 'bounded',
      bounded: { top1: 0.9, common: 0.9, meanLogProbability },
      minimumOutputTokens: 16,
    });
    assert.equal(gradeOracle(rule(0.05), cells).grade, 'strong');
    assert.equal(gradeOracle(rule(0.2), cells).grade, 'vacuous');
    const rounded = (shift: number) => {
      const arms = { head: { ...healthy, probabilities: named(shift) } };
      return gradeOracle(rule(0.05), [cellOf('a', [{ ...given, healthy, arms, faulty }])]);
    };
    const within = rounded(0.01);
    assert.deepEqual([within.grade, within.findings], ['strong', []]);
    const near = (value: number | null | undefined, wanted: number) =>
      assert.ok(Math.abs((value ?? 0) - wanted) < 1e-6, `${value} is not ${wanted}`);
    near(within.cells[0]?.room?.arms.head, 0.2);
    for (const fault of plantedFaults) near(within.cells[0]?.room?.faults[fault], 2);
    // Limits that refuse a healthy arm would catch anything.
    const [refused, ...more] = rounded(0.06).findings;
    assert.deepEqual([refused?.code, more], ['healthy-beyond-limits', []]);
    assert.match(refused?.message ?? '', /cell a: arm head, without any fault/);
  });
});

describe('the counting prompt of published pull requests', () => {
  const output = { tokens: tokenize(counting.output), logitsSha256: null };
  /** Every planted fault leaves the text as it is: the next integer is never in doubt. */
  const cells = counting.cells.map(({ promptTokens, chunk }) => {
    const prompt = {
      prompt: counting.prompt,
      promptTokens,
      long: true,
      healthy: output,
      faulty: perFault(() => ({ ...output, struck: 100 })),
    };
    return cellOf(`${promptTokens}/${chunk}`, [prompt]);
  });

  test('is the text whose hash was published for both prompt lengths', () => {
    assert.equal(createHash('sha256').update(counting.output).digest('hex'), counting.outputSha256);
    assert.equal(counting.cells.length, 2);
  });

  test('is graded vacuous, prompt by prompt and as a set', () => {
    const graded = gradeOracle(tokens, cells);
    assert.equal(graded.grade, 'vacuous');
    assert.deepEqual(
      graded.cells.map(({ prompts }) => prompts.map(({ grade }) => grade)),
      [['vacuous'], ['vacuous']],
    );
    for (const fault of plantedFaults) assert.equal(graded.faults[fault], 'missed');
  });

  const plan = makePlan({
    cells: counting.cells,
    protocol: { parity: 'tokens' },
  });

  /** Refused in each cell, with no rate shown. */
  function refused(alter: JournalOptions['alter'] & object, message: RegExp): void {
    const verdict = verdictOf(plan, { alter });
    assert.equal(verdict.result, 'parity-failed');
    assert.equal(verdict.exitCode, 13);
    for (const cell of verdict.cells) {
      const [reason, ...more] = cell.comparisons[0]?.reasons ?? [];
      assert.equal(reason?.code, 'vacuous-outputs');
      assert.match(reason.message, message);
      assert.deepEqual([more, cell.arms], [[], {}]);
    }
  }

  const alterTokens = (
    matches: (sample: EntryOf<'sample'>) => boolean,
    make: (sample: EntryOf<'sample'>) => number[],
  ) =>
    alterAnswers(matches, (sample) => {
      const ids = make(sample);
      return { tokens: ids, tokensSha256: tokensDigest(ids) };
    });

  test('fails the parity of a session whose every output it is', () => {
    const first = (sample: EntryOf<'sample'>) => output.tokens.slice(0, sample.answer.tokens.length);
    refused(
      alterTokens(() => true, first),
      /does not depend on the prompt/,
    );
  });

  test('fails it also where only one long output a cell is compared: the cells have the same', () => {
    const whole = alterTokens(
      ({ purpose }) => purpose === 'parity',
      () => output.tokens.slice(0, 16),
    );
    refused(whole, /does not depend on the prompt/);
  });

  test('fails as an engine does that repeats the end of its prompt', () => {
    const echo = alterTokens(
      ({ purpose }) => purpose === 'parity',
      ({ prompt }) => [...promptTokens(plan, prompt)].slice(-16),
    );
    refused(echo, /repeats the beginning or the end of its prompt/);
  });
});
