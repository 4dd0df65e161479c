/** What a verdict says of a slowdown that was planted. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderTable } from '../../../src/report/table.js';
import { makeJournal, makePlan, SWITCH, verdictOf } from '../../fixtures/journal.js';

/** The planted reason of a session whose head takes so much longer than base. */
function told(planted: number, factor: number, looks = [6]): { message: string; top: string } {
  const plan = makePlan({
    arms: { base: { switches: { [SWITCH]: '0' } }, head: { plantedSlowdownPercent: planted } },
    budgets: { prefill: 10 },
    protocol: { looks },
  });
  const ms = ({ arm, round }: { arm: string; round: number }): number =>
    100 * (arm === 'head' ? factor : 1) * (1 + 1e-3 * (arm === 'head' ? (round % 3) - 1 : 0));
  const verdict = verdictOf(plan, { ms });
  const message = verdict.reasons.find(({ code }) => code === 'planted')?.message ?? '';
  const top = renderTable(verdict, { plan, entries: makeJournal(plan, { ms }) });
  return { message, top: top.split('\n\n').slice(0, 2).join(' ').replaceAll(/\s+/g, ' ') };
}

describe('a planted slowdown', () => {
  test('that is found is called planted, and no more', () => {
    assert.equal(told(20, 1.2).message, 'arm head has a PLANTED slowdown of 20 %: this is no qualification');
  });

  test('within the budget is not found, with the reason', () => {
    assert.match(
      told(3, 1.03).message,
      /; not found in 64\/32 \(what takes 3 % longer is within the budget of 10 %\)$/,
    );
  });

  test('cannot show where the arms differ anyway', () => {
    assert.match(
      told(20, 0.6).message,
      /; not found in 64\/32 \(the arms differ by \+66\.7 % anyway, so that it cannot show\)$/,
    );
  });

  test('is not found by too few rounds, or by what these show', () => {
    assert.match(told(20, 1.2, [2]).message, /not found in 64\/32 \(2 rounds give no interval\)$/);
    assert.match(told(20, 1).message, /not found in 64\/32 \(these rounds do not show it\)$/);
  });

  test('stands with the headline', () => {
    assert.match(told(3, 1.03).top, /INCONCLUSIVE \(exit 11\).*PLANTED slowdown of 3 %.*not found in 64\/32/);
  });
});
