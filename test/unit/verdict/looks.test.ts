/** The looks of a cell: caps, what so many rounds could see, and the protocol that a verdict names. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import { undecidedCells } from '../../../src/verdict/settle.js';
import { comparisonOf, noise, only, type Place, planOf, times } from '../../fixtures/control-journal.js';
import { makeJournal, verdictOf } from '../../fixtures/journal.js';

describe('a cell with a cap', () => {
  const cells = [
    { promptTokens: 64, chunk: 32, cap: 6 },
    { promptTokens: 96, chunk: 32 },
  ];
  const plan = planOf({ cells, protocol: { looks: [6, 12] } });
  const undecided = (place: Place): number =>
    100 * noise(place) * (place.arm === 'head' ? 1.01 + 0.03 * (place.round % 2) : 1);

  test('stops there, undecided, while others go on', () => {
    const entries = makeJournal(plan, { rounds: 6, ms: undecided });
    assert.deepEqual(undecidedCells(plan, entries), ['96/32']);
  });

  test('has no look after it', () => {
    const { cells: analysed } = analyse(plan, makeJournal(plan, { ms: undecided }));
    assert.deepEqual(
      analysed.map((cell) => cell.looks.map(({ rounds }) => rounds)),
      [[6], [6, 12]],
    );
  });

  test('is judged by its own last look', () => {
    const verdict = verdictOf(plan, { ms: undecided });
    const rounds = verdict.cells.map((cell) => only(cell.comparisons).effect?.rounds);
    assert.deepEqual(rounds, [6, 12]);
    assert.equal(verdict.protocol, 'full');
  });

  test('below six rounds cannot pass, and says so', () => {
    const capped = planOf({
      cells: [
        { promptTokens: 64, chunk: 32, cap: 2 },
        { promptTokens: 96, chunk: 32 },
      ],
      protocol: { looks: [2, 6] },
    });
    const verdict = verdictOf(capped, times({ head: 0.5 }));
    assert.deepEqual(
      verdict.cells.map((cell) => cell.verdict),
      ['inconclusive', 'pass'],
    );
    assert.match(
      verdict.warnings.find(({ code }) => code === 'few-rounds')?.message ?? '',
      /64\/32 cannot pass/,
    );
    assert.equal(verdict.protocol, 'small');
  });
});

describe('what the rounds could see', () => {
  const spread = (centre: number, size: number) => (place: Place) =>
    100 * noise(place) * (place.arm === 'head' ? centre * (1 + size * ((place.round % 3) - 1)) : 1);
  const detailAt = (centre: number, size: number, looks: number[] = [6]) => {
    const verdict = verdictOf(planOf({ protocol: { looks } }), { ms: spread(centre, size) });
    return comparisonOf(verdict);
  };

  test('is told of everything but an improvement', () => {
    const cases: [string | null, number, number][] = [
      ['improved', 0.9, 0.001],
      ['neutral', 1, 0.005],
      ['slower-in-budget', 1.01, 0.001],
      ['beyond-budget', 1.1, 0.001],
      ['slower-not-cleared', 1.02, 0.008],
      [null, 1.01, 0.03],
    ];
    for (const [detail, centre, size] of cases) {
      const { effect, ...comparison } = detailAt(centre, size);
      assert.equal(comparison.detail, detail, `${centre} ${size}`);
      assert.equal(effect?.minimumDetectablePercent === null, detail === 'improved', `${detail}`);
      const needed = detail === null || detail === 'slower-not-cleared';
      assert.equal(effect?.roundsStillNeeded !== null, needed, `${detail}`);
    }
  });

  test('and how many rounds would decide are told of two to five rounds; of one only the latter', () => {
    for (const rounds of [2, 3, 4, 5]) {
      const { verdict, effect, reasons } = detailAt(1, 0.01, [rounds]);
      assert.equal(verdict, 'inconclusive');
      assert.ok((effect?.minimumDetectablePercent ?? 0) > 0.1, `${rounds}`);
      assert.equal(effect?.roundsStillNeeded, 6 - rounds);
      assert.match(
        only(reasons).message,
        new RegExp(`${6 - rounds} more; these rounds can see a slowdown of`),
      );
    }
    const { effect } = detailAt(1, 0.01, [1]);
    assert.equal(effect?.minimumDetectablePercent, null);
    assert.equal(effect?.roundsStillNeeded, 5);
  });
});

describe('the protocol of a verdict', () => {
  test('is small below six rounds, for a gate to refuse by', () => {
    for (const [rounds, word] of [
      [1, 'small'],
      [5, 'small'],
      [6, 'full'],
    ] as const) {
      assert.equal(verdictOf(planOf({ protocol: { looks: [rounds] } })).protocol, word);
    }
  });
});
