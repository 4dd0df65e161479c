/** How often an ablation is wrong when no switch matters, and how often it finds one that does. Seeded, so it never wavers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ablationMatrix } from '../../../src/matrix/ablate.js';
import { type Design, matrixSchema } from '../../../src/matrix/schema.js';
import type { Plan } from '../../../src/plan/schema.js';
import { Stream } from '../../../src/plan/stream.js';
import { ablationOf } from '../../../src/verdict/ablation.js';
import type { AblationCell } from '../../../src/verdict/ablation-schema.js';
import type { CellVerdict, Verdict } from '../../../src/verdict/schema.js';
import { makePlan, verdictOf } from '../../fixtures/journal.js';
import { normal } from '../../fixtures/normal.js';

const trials = 1500;
const factors = Array.from({ length: 8 }, (_, index) => ({ switch: `S${index}`, low: '0', high: '1' }));
const witnesses = factors.map((factor) => ({
  switch: factor.switch,
  status: 'counters' as const,
  message: '',
}));

function planOf(kind: Design['kind'], rounds: number): Plan {
  const matrix = matrixSchema.parse({
    schemaVersion: 1,
    name: 'test',
    title: 'Test',
    model: { preset: 'unit' },
    cells: [{ promptTokens: 64, chunk: 32 }],
    arms: { off: {}, on: {} },
    protocol: { warmups: 0, samples: 1, clock: 'cpu' },
  });
  return makePlan(ablationMatrix(matrix, { kind, from: 'off', factors, rounds }));
}

/** The cell of a session in which the first switch has an effect and every launch has noise of its own. */
function simulated(cell: CellVerdict, plan: Plan, effect: number, cv: number, stream: Stream): CellVerdict {
  const rounds = plan.rounds.length;
  const base = Array.from({ length: rounds }, () => cv * normal(stream));
  const comparisons = cell.comparisons.map((comparison) => {
    const levels = plan.design?.rows.find(({ arm }) => arm === comparison.arm)?.levels ?? '';
    const perRound = base.map((own) => (levels.startsWith('+') ? effect : 0) + cv * normal(stream) - own);
    return { ...comparison, effect: comparison.effect && { ...comparison.effect, perRound } };
  });
  return { ...cell, comparisons };
}

/** All its proofs hold: every switch shows in a counter. */
function provedCell(plan: Plan): CellVerdict {
  const verdict: Verdict = verdictOf(plan, {
    alter: (draft) => {
      if (draft.kind !== 'counters') return draft;
      const arm = plan.arms.find(({ name }) => draft.launch.endsWith(`-${name}`));
      const own = Object.entries(arm?.switches ?? {}).map(([name, value]) => [`runs.${name}`, Number(value)]);
      return { ...draft, counters: { ...draft.counters, ...Object.fromEntries(own) } };
    },
  });
  const [cell] = verdict.cells;
  assert.ok(cell && cell.verdict === 'pass', JSON.stringify(verdict.reasons));
  return cell;
}

function sessions(kind: Design['kind'], rounds: number, effect: number): AblationCell['switches'][] {
  const plan = planOf(kind, rounds);
  const cell = provedCell(plan);
  const stream = new Stream('0'.repeat(64), `${kind} ${rounds} ${effect}`);
  return Array.from({ length: trials }, () => {
    const own = simulated(cell, plan, effect, 0.01, stream);
    return ablationOf(plan, [own], witnesses)?.cells[0]?.switches ?? [];
  });
}

const share = (
  list: AblationCell['switches'][],
  matches: (switches: AblationCell['switches']) => boolean,
): number => list.filter(matches).length / list.length;

for (const [kind, rounds] of [
  ['folded-plackett-burman', 2],
  ['folded-plackett-burman', 1],
  ['one-at-a-time', 2],
] as const) {
  test(`${kind}, ${rounds} rounds: where no switch matters, a claim is made in at most one of twenty sessions`, () => {
    const found = sessions(kind, rounds, 0);
    const claimed = share(found, (switches) => switches.some(({ effect }) => effect?.stands === true));
    // The share has a standard error of .0056.
    assert.ok(claimed < 0.065, `${claimed}`);
    const uncorrected = share(found, (switches) => switches.some(({ effect }) => (effect?.p ?? 1) <= 0.05));
    assert.ok(uncorrected > 0.15, `${uncorrected}`);
    // Claims and intervals never contradict each other.
    for (const { effect } of found.flat()) {
      assert.equal(effect?.stands, (effect?.lowerPercent ?? 0) > 0 || (effect?.upperPercent ?? 0) < 0);
    }
  });
}

test('16 arms in 2 rounds find a switch of 2 % at 1 % of noise; 10 arms one at a time in 2 rounds mostly do not', () => {
  const first = (switches: AblationCell['switches']): boolean => switches[0]?.effect?.stands === true;
  const design = share(sessions('folded-plackett-burman', 2, Math.log(1.02)), first);
  const alone = share(sessions('one-at-a-time', 2, Math.log(1.02)), first);
  assert.ok(design > 0.95, `${design}`);
  assert.ok(alone < 0.5, `${alone}`);
});
