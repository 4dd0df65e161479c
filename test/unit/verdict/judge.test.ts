import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { analyse } from '../../../src/analysis/analyse.js';
import { exitCodeOf } from '../../../src/verdict/exit-code.js';
import { judge } from '../../../src/verdict/judge.js';
import { worstOf } from '../../../src/verdict/refusal.js';
import { verdictNames, verdictSchema } from '../../../src/verdict/schema.js';
import { serializeVerdict } from '../../../src/verdict/serialize.js';
import { undecidedCells } from '../../../src/verdict/settle.js';
import {
  alterAnswers,
  type Draft,
  type JournalOptions,
  makeJournal,
  makePlan,
  verdictOf,
} from '../../fixtures/journal.js';

/** Milliseconds with a noise of a few parts in a thousand that depends on place alone. */
const noise = (round: number, index: number, size = 0.001): number =>
  1 + size * (((round * 7 + index * 3) % 5) - 2);

/** A journal in which head takes `factor` of base's time, per cell, with `size` of noise in head. */
const slower = (factor: number | Record<string, number>, size = 0.001): JournalOptions => ({
  ms: ({ arm, cell, round, index }) => {
    const own = typeof factor === 'number' ? factor : (factor[cell.id] ?? 1);
    return arm === 'base' ? 100 : 100 * own * noise(round, index) * noise(round, 1, size);
  },
});

const plan = makePlan();
const looks = makePlan({ protocol: { looks: [6, 12] } });
const first = <T>(list: readonly T[]): T => {
  const [item] = list;
  assert.ok(item !== undefined);
  return item;
};

describe('a verdict', () => {
  test('gives the effect of the head over the base', () => {
    const verdict = verdictOf(plan, slower(0.5));
    const { effect, detail } = first(first(verdict.cells).comparisons);
    assert.equal(detail, 'improved');
    assert.ok(effect?.lower && effect.upper);
    assert.ok(Math.abs(effect.ratio - 2) < 0.01);
    assert.ok(effect.lower < 2 && effect.upper > 1.99);
    assert.equal(effect.rounds, 6);
    assert.equal(effect.level, 0.9806);
    assert.equal(effect.minimumDetectablePercent, null);
    assert.equal(effect.roundsStillNeeded, null);
  });

  test('is 10 beyond the budget, and names the bounds', () => {
    const verdict = verdictOf(plan, slower(1.1));
    assert.equal(verdict.exitCode, 10);
    assert.equal(first(first(verdict.cells).comparisons).detail, 'beyond-budget');
    assert.match(first(verdict.reasons).message, /64\/32, head against base: .*budget of 2 %/);
  });

  test('is 11 where the rounds do not decide, with what they could see and how many more would', () => {
    const verdict = verdictOf(plan, slower(1.01, 0.02));
    assert.equal(verdict.exitCode, 11);
    const { effect, reasons } = first(first(verdict.cells).comparisons);
    assert.ok((effect?.minimumDetectablePercent ?? 0) > 1);
    assert.ok((effect?.roundsStillNeeded ?? 0) > 0);
    assert.equal(first(reasons).code, 'undecided');
    assert.match(first(reasons).message, /more rounds would decide/);
  });

  test('passes a slowdown within the budget, and says so', () => {
    const verdict = verdictOf(plan, slower(1.01));
    assert.equal(verdict.exitCode, 0);
    assert.equal(first(first(verdict.cells).comparisons).detail, 'slower-in-budget');
  });

  test('of one round shows the effect and concludes nothing', () => {
    const one = makePlan({ protocol: { looks: [1] } });
    const verdict = verdictOf(one, slower(0.5));
    assert.equal(verdict.exitCode, 11);
    const { effect, reasons } = first(first(verdict.cells).comparisons);
    assert.ok(Math.abs((effect?.ratio ?? 0) - 2) < 0.01);
    assert.equal(effect?.lower, null);
    assert.equal(effect?.level, null);
    assert.equal(effect?.roundsStillNeeded, 5);
    assert.equal(first(reasons).code, 'too-few-rounds');
    assert.equal(first(verdict.warnings).code, 'few-rounds');
  });

  test('times decode by the tokens after the first', () => {
    const decode = makePlan({
      cells: [{ promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 21 }],
    });
    const cell = first(verdictOf(decode, { ms: () => 500 }).cells);
    assert.equal(cell.id, '64+21');
    assert.equal(cell.arms.base?.median, 40);
  });

  test('has the medians, MADs and stages of the retained samples alone', () => {
    const ms = ({ arm, index }: { arm: string; index: number }): number => (arm === 'base' ? 64 : 32) + index;
    const arm = first(verdictOf(plan, { ms, stages: (name) => ({ moe: name === 'base' ? 6.5 : 1.5 }) }).cells)
      .arms.base;
    assert.equal(arm?.n, 18);
    assert.equal(arm.median, Number((64 / 0.065).toPrecision(10)));
    assert.equal(arm.max, 1000);
    assert.deepEqual(arm.stages, { moe: 6.5 });
    assert.equal(arm.otherClock?.clock, 'wall');
  });
});

describe('the matrix', () => {
  const two = makePlan({
    cells: [
      { promptTokens: 64, chunk: 32 },
      { promptTokens: 96, chunk: 32 },
    ],
  });

  test('is as good as its worst required cell', () => {
    const verdict = verdictOf(two, slower({ '64/32': 0.5, '96/32': 1.1 }));
    assert.deepEqual(
      verdict.cells.map((cell) => cell.verdict),
      ['pass', 'fail'],
    );
    assert.equal(verdict.result, 'fail');
  });

  test('does not fall with a cell that is not required, but mentions it', () => {
    const optional = makePlan({
      cells: [
        { promptTokens: 64, chunk: 32 },
        { promptTokens: 96, chunk: 32, required: false },
      ],
    });
    const verdict = verdictOf(optional, slower({ '64/32': 0.5, '96/32': 1.1 }));
    assert.equal(verdict.exitCode, 0);
    assert.equal(first(verdict.warnings).code, 'optional-cell');
  });

  test('exit codes take precedence 13, 14, 12, 15, 10, 11, 0', () => {
    const order = [0, 11, 10, 15, 12, 14, 13];
    const ranks = verdictNames.map((name) => order.indexOf(exitCodeOf(name)));
    assert.deepEqual(
      ranks,
      ranks.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(verdictNames.map(exitCodeOf)).size, order.length);
    assert.equal(exitCodeOf(worstOf(['fail', 'parity-failed', 'unmatched'])), 13);
    assert.equal(exitCodeOf(worstOf([])), 0);
  });

  test('of three arms compares each with the first', () => {
    const stacked = makePlan({
      arms: { main: { revision: 'a' }, one: { revision: 'b' }, both: { revision: 'c' } },
    });
    const ms = ({ arm, round, index }: { arm: string; round: number; index: number }): number =>
      ({ main: 100, one: 110, both: 50 })[arm as 'main' | 'one' | 'both'] * noise(round, index);
    const cell = first(verdictOf(stacked, { ms }).cells);
    assert.deepEqual(
      cell.comparisons.map(({ arm, against, verdict }) => [arm, against, verdict]),
      [
        ['one', 'main', 'fail'],
        ['both', 'main', 'pass'],
      ],
    );
  });

  test('shows of three arms only those that are proved', () => {
    const stacked = makePlan({
      arms: { main: { revision: 'a' }, one: { revision: 'b' }, both: { revision: 'c' } },
    });
    const alter = alterAnswers(
      ({ launch }) => launch.endsWith('-one'),
      ({ prompt }) => ({ logitsSha256: prompt.length.toString(16).padStart(64, '0') }),
    );
    const cell = first(verdictOf(stacked, { alter }).cells);
    assert.equal(cell.verdict, 'parity-failed');
    assert.deepEqual(Object.keys(cell.arms), ['main', 'both']);
  });

  test('claims an improvement only beyond what many comparisons give by chance', () => {
    const cells = Array.from({ length: 12 }, (_, i) => ({ promptTokens: 64 + i, chunk: 32 }));
    const many = makePlan({ cells });
    const faster = { ...slower({}, 0.001), ms: slower({ '64/32': 0.9985 }, 0.0008).ms ?? (() => 100) };
    const alone = first(first(verdictOf(plan, faster).cells).comparisons);
    const among = first(first(verdictOf(many, faster).cells).comparisons);
    assert.equal(alone.detail, 'improved');
    assert.equal(among.detail, 'neutral');
    assert.equal(first(among.reasons).code, 'improvement-not-claimed');
    assert.equal(among.verdict, 'pass');
  });
});

describe('looks', () => {
  const started = (rounds: number, options: JournalOptions) => makeJournal(looks, { ...options, rounds });

  test('a decided cell is done, an undecided one goes on', () => {
    assert.deepEqual(undecidedCells(looks, started(6, slower(0.5))), []);
    assert.deepEqual(undecidedCells(looks, started(6, slower(1.01, 0.02))), ['64/32']);
    assert.deepEqual(undecidedCells(looks, started(12, slower(1.01, 0.02))), []);
  });

  test('a refused cell does not go on', () => {
    const alter = alterAnswers(
      () => true,
      () => ({ cacheN: 1 }),
    );
    assert.deepEqual(undecidedCells(looks, started(6, { ...slower(1.01, 0.02), alter })), []);
  });

  test('a decision stands: rounds after it are not counted', () => {
    const verdict = verdictOf(looks, {
      ms: ({ arm, round, index }) => (arm === 'head' && round < 6 ? 50 : 100) * noise(round, index),
    });
    const cell = first(verdict.cells);
    assert.equal(first(cell.comparisons).effect?.rounds, 6);
    assert.equal(cell.arms.head?.n, 18);
    assert.equal(cell.verdict, 'pass');
  });

  test('a session that stops while a cell is undecided has not measured it', () => {
    const verdict = judge(looks, analyse(looks, started(8, slower(1.01, 0.02))));
    assert.equal(verdict.result, 'not-measured');
    assert.deepEqual(first(verdict.cells).arms, {});
  });

  test('a slowdown that was never cleared fails at the cap', () => {
    const verdict = verdictOf(looks, slower(1.02, 0.003));
    const { detail, effect } = first(first(verdict.cells).comparisons);
    assert.equal(detail, 'slower-not-cleared');
    assert.equal(effect?.rounds, 12);
    assert.equal(verdict.exitCode, 10);
  });
});

describe('verdict.json', () => {
  test('has the same bytes however the journal was held in memory', () => {
    const entries = makeJournal(plan, slower(0.7));
    const again = JSON.parse(JSON.stringify(entries));
    const text = serializeVerdict(judge(plan, analyse(plan, entries)));
    assert.equal(serializeVerdict(judge(plan, analyse(plan, again))), text);
    assert.equal(serializeVerdict(verdictSchema.parse(JSON.parse(text))), text);
    assert.ok(text.endsWith('}\n'));
  });

  test('is not touched by the order of entries of different launches', () => {
    const entries = makeJournal(plan, slower(0.7));
    const launches = entries.filter((entry) => 'launch' in entry);
    const name = (entry: (typeof launches)[number]): string => `${entry.launch}`;
    const others = entries.filter((entry) => !('launch' in entry));
    const shuffled = [...others, ...launches.toSorted((a, b) => name(b).localeCompare(name(a)))];
    assert.notDeepEqual(shuffled, entries);
    assert.equal(
      serializeVerdict(judge(plan, analyse(plan, shuffled))),
      serializeVerdict(judge(plan, analyse(plan, entries))),
    );
  });

  test('a machine that is slower by any factor reaches the same effect', () => {
    const factors = fc.double({ min: 0.2, max: 20, noNaN: true });
    fc.assert(
      fc.property(factors, (factor) => {
        const of = (scale: number) => {
          const ms = ({ arm, round, index }: { arm: string; round: number; index: number }): number =>
            scale * (arm === 'base' ? 100 : 103) * noise(round, index);
          return first(first(verdictOf(plan, { ms }).cells).comparisons);
        };
        const [a, b] = [of(1), of(factor)];
        assert.equal(a.detail, b.detail);
        assert.ok(Math.abs((a.effect?.ratio ?? 0) - (b.effect?.ratio ?? 1)) < 1e-8);
      }),
      { numRuns: 10 },
    );
  });

  test('swapping the arms inverts the ratio', () => {
    const ms =
      (fast: string) =>
      ({ arm, round, index }: { arm: string; round: number; index: number }): number =>
        (arm === fast ? 90 : 100) * noise(round, index + (arm === fast ? 1 : 0));
    const [a, b] = ['head', 'base'].map(
      (fast) => first(first(verdictOf(plan, { ms: ms(fast) }).cells).comparisons).effect,
    );
    assert.ok(a && b);
    assert.ok(Math.abs(a.ratio * b.ratio - 1) < 1e-8);
    assert.ok(Math.abs((a.lower ?? 0) * (b.upper ?? 0) - 1) < 1e-8);
  });
});

test('drafts left out by a test really are left out', () => {
  const alter = (draft: Draft): Draft | null => (draft.kind === 'counters' ? null : draft);
  assert.equal(makeJournal(plan, { alter }).filter((entry) => entry.kind === 'counters').length, 0);
});
