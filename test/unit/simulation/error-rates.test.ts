/** The error rates of the rule on a few hundred matrices, and that wrong rules do not keep to the same goals. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { logEffect } from '../../../src/analysis/effect.js';
import { describeErrorRates, errorRatesMarkdown } from '../../../src/report/error-rates.js';
import { type Goal, goalsOf, type Simulated } from '../../../src/simulation/goals.js';
import { type Protocol, simulateMatrices } from '../../../src/simulation/matrices.js';
import { type Scenario, scenarios, UNDISTURBED } from '../../../src/simulation/scenario.js';
import { standardProtocol } from '../../../src/simulation/standard-protocol.js';
import { cellCount, shareOf } from '../../../src/simulation/tally.js';
import { decide, logMargin } from '../../../src/verdict/zone.js';

const SEED = 'error rates';
/** So many that a rate of 5 % is known to half a percent. */
const MATRICES = 300;

/** What the goals are about, where it is the hardest for them: every disturbance at noise of 1 %, and noise alone at 2 %; t. */
const some = scenarios.filter(
  ({ interval, effectPercent, cvPercent, disturbance }) =>
    interval === 't' &&
    (cvPercent === 1 || (cvPercent === 2 && disturbance === UNDISTURBED)) &&
    [0, -2, -3].includes(effectPercent),
);

/** Enough to show what a wrong rule does. */
const undisturbed = some.filter(({ disturbance }) => disturbance === UNDISTURBED);

function simulate(list: readonly Scenario[], changes: Partial<Protocol> = {}): Simulated[] {
  const batch = { seed: SEED, from: 0, count: MATRICES };
  const protocol = { ...standardProtocol, ...changes };
  return list.map((scenario) => ({ scenario, tally: simulateMatrices(scenario, protocol, batch) }));
}

const held = (goals: readonly Goal[]): boolean[] => goals.map(({ holds }) => holds);

describe('the rule of sessions', () => {
  let simulated: Simulated[] = [];
  before(() => {
    simulated = simulate(some);
  });

  test('keeps to every goal that 2400 cells a scenario can show', () => {
    const goals = goalsOf(simulated);
    assert.deepEqual(held(goals), [true, true, true, true, true], JSON.stringify(goals, null, 1));
  });

  test('finds what is 3 % slower at 1 % noise, and says by how much', () => {
    const found = simulated.find(
      ({ scenario }) => scenario.disturbance === 'none' && scenario.effectPercent === -3,
    );
    assert.ok(found);
    assert.ok(found.tally.cells.beyond / cellCount(found.tally) > 0.99);
  });

  test('passes on the margin about as often as its level says, not never', () => {
    const found = simulated.find(
      ({ scenario }) => scenario.disturbance === 'none' && scenario.effectPercent === -2,
    );
    assert.ok(found);
    const { share } = shareOf(found.tally.cells.pass, cellCount(found.tally));
    assert.ok(share > 0.02 && share < 0.06, String(share));
  });

  test('refuses cells whose warm-up was too short far more often than others', () => {
    const refused = (name: string): number =>
      simulated
        .filter(({ scenario }) => scenario.disturbance === name)
        .reduce((sum, { tally }) => sum + tally.cells.refused, 0);
    assert.ok(refused('ramp 3 %') > 30, String(refused('ramp 3 %')));
    assert.ok(refused('drift -4 %') < 3, String(refused('drift -4 %')));
  });

  test('is told in 80 columns and in Markdown, with seed, count and every goal', () => {
    const calibration = { seed: SEED, matrices: MATRICES, simulated };
    const text = describeErrorRates(calibration);
    for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
    for (const shown of [text, errorRatesMarkdown(calibration)]) {
      assert.match(shown, /300 simulated matrices \(2400 cells\)/);
      assert.match(shown, /seed "error rates"/);
      assert.match(shown, /yes/);
      assert.doesNotMatch(shown, /\bNO\b/);
    }
    assert.match(text, /^SIMULATED/);
  });

  test('takes a smaller batch of the same matrices as a part of them', () => {
    const [scenario] = some;
    assert.ok(scenario);
    const part = (from: number, count: number) =>
      simulateMatrices(scenario, standardProtocol, { seed: SEED, from, count });
    const [whole, first, rest] = [part(0, 10), part(0, 3), part(3, 7)];
    assert.equal(whole.rounds, first.rounds + rest.rounds);
    assert.equal(whole.cells.pass, first.cells.pass + rest.cells.pass);
  });
});

describe('wrong rules miss the goals', () => {
  const missed = (changes: Partial<Protocol>): string[] =>
    goalsOf(simulate(undisturbed, changes))
      .filter(({ holds }) => !holds)
      .map(({ goal }) => goal);

  test('which the right one, on the same matrices, does not', () => {
    assert.deepEqual(missed({}), []);
  });

  test('a race of "lower bound above the margin" against "upper bound below 0"', () => {
    const race: typeof decide = ({ deciding }, margin, last) => {
      if (deciding !== null && deciding.upper < 0) return { verdict: 'fail', detail: 'beyond-budget' };
      return decide({ deciding }, margin, last);
    };
    assert.ok(missed({ decide: race }).some((goal) => goal.startsWith('An unchanged cell fails')));
  });

  test('"not significantly slower, so it passes"', () => {
    const overlap: typeof decide = ({ deciding }) =>
      deciding === null || deciding.upper >= 0
        ? { verdict: 'pass', detail: 'neutral' }
        : { verdict: 'fail', detail: 'beyond-budget' };
    const goals = missed({ decide: overlap });
    assert.ok(goals.some((goal) => goal.startsWith('A cell on the margin')));
    assert.ok(goals.some((goal) => goal.startsWith('An unchanged cell fails')));
  });

  test('the estimate alone, without bounds', () => {
    const bare: typeof decide = ({ deciding }, margin) => {
      const centre = deciding === null ? 0 : (deciding.lower + deciding.upper) / 2;
      return centre > logMargin(margin)
        ? { verdict: 'pass', detail: 'neutral' }
        : { verdict: 'fail', detail: 'beyond-budget' };
    };
    const goals = missed({ decide: bare });
    assert.ok(goals.some((goal) => goal.startsWith('A cell on the margin')));
  });

  test('four looks at .05 each, as if there were one', () => {
    assert.ok(missed({ levelPerLook: 0.05 }).some((goal) => goal.startsWith('A cell on the margin')));
  });

  test('a veto that refuses everything: nothing passes', () => {
    const goals = missed({ vetoes: [() => 'refused'] });
    assert.ok(goals.some((goal) => goal.startsWith('An unchanged matrix')));
  });

  test('nothing simulated keeps to no goal', () => {
    assert.deepEqual(new Set(held(goalsOf([]))), new Set([false]));
  });
});

test('simulated cells are decided by the bounds that a session stores', () => {
  const ratios = [0.01, -0.02, 0.003, 0.004, -0.005, 0.006, 0.007];
  for (const interval of ['t', 'walsh'] as const) {
    const decision = { rule: 'zone-v1' as const, looks: [7], levelPerLook: 0.0194, interval };
    const effect = logEffect(ratios, decision);
    assert.deepEqual(effect.deciding, effect[interval]);
    assert.ok(effect.deciding);
  }
});
