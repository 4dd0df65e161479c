/** Place in a round and drift over a session, from a journal to what follows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import type { Plan } from '../../../src/plan/schema.js';
import { judge } from '../../../src/verdict/judge.js';
import { undecidedCells } from '../../../src/verdict/settle.js';
import {
  codesOf,
  comparisonOf,
  controlsOf,
  noise,
  only,
  type Place,
  planOf,
} from '../../fixtures/control-journal.js';
import { type JournalOptions, makeJournal, verdictOf } from '../../fixtures/journal.js';

describe('slot and order', () => {
  const plan = planOf();
  const isSecond = (own: Plan, { arm, round }: Place): boolean => {
    const order = own.rounds[round]?.order.filter((name) => name !== 'null') ?? [];
    return order.indexOf(arm) === 1;
  };

  test('a second launch that is slower is told, and the verdict stands', () => {
    const ms = (place: Place): number => 100 * noise(place) * (isSecond(plan, place) ? 1.015 : 1);
    const verdict = verdictOf(plan, { ms });
    const control = only(controlsOf(verdict, 'slot'));
    assert.equal(control.status, 'exceeded');
    assert.ok(Math.abs((control.percent ?? 0) + 1.48) < 0.05, `${control.percent}`);
    assert.match(
      verdict.warnings.find(({ code }) => code === 'slot-effect')?.message ?? '',
      /64\/32, head: second/,
    );
    assert.notEqual(verdict.exitCode, 14);
    const small = verdictOf(plan, {
      ms: (place) => 100 * noise(place) * (isSecond(plan, place) ? 1.005 : 1),
    });
    assert.equal(only(controlsOf(small, 'slot')).status, 'ok');
    assert.ok(!codesOf(small.warnings).includes('slot-effect'));
  });

  /** Launches whose time is their place among all, except that the first launches of base lie far back. */
  const timed = (
    own: Plan,
    options: JournalOptions,
    atNs: (place: { arm: string; round: number }) => number,
  ) =>
    makeJournal(own, options).map((entry) =>
      entry.kind === 'launch' ? { ...entry, atNs: String(Math.round(atNs(entry))) } : entry,
    );

  test('an effect that turns round when a drift is taken out decides nothing', () => {
    // Head is launched long after base in each round, and the machine gains speed all the time.
    const time = ({ arm, round }: { arm: string; round: number }): number =>
      1000 * round + (arm === 'head' ? 900 : 0);
    const rate = (place: Place): number => 1 + 2e-5 * time(place) - (place.arm === 'head' ? 0.002 : 0);
    const options = { ms: (place: Place) => (100 * noise(place)) / rate(place) };
    const own = planOf({ nullRounds: 0 });
    const verdict = judge(own, analyse(own, timed(own, options, time)));
    assert.equal(verdict.exitCode, 11, JSON.stringify(comparisonOf(verdict)));
    const { reasons, effect } = comparisonOf(verdict);
    assert.deepEqual(codesOf(reasons), ['order-contradicts']);
    assert.ok((effect?.lower ?? 0) > 1);
    assert.equal(effect?.roundsStillNeeded, null);
    const control = only(controlsOf(verdict, 'order'));
    assert.equal(control.status, 'exceeded');
    assert.ok(Math.abs((control.percent ?? 0) + 0.2) < 0.05, `${control.percent}`);
  });

  test('goes on at a look that is not the last', () => {
    const time = ({ arm, round }: { arm: string; round: number }): number =>
      1000 * round + (arm === 'head' ? 900 : 0);
    const rate = (place: Place): number => 1 + 2e-5 * time(place) - (place.arm === 'head' ? 0.002 : 0);
    const own = planOf({ nullRounds: 0, protocol: { looks: [6, 12] } });
    const options = { rounds: 6, ms: (place: Place) => (100 * noise(place)) / rate(place) };
    assert.deepEqual(undecidedCells(own, timed(own, options, time)), ['64/32']);
  });

  test('a drift over the session leaves an effect as it is', () => {
    const own = planOf({ nullRounds: 0 });
    const places = new Map(
      own.rounds.flatMap(({ round, order }) =>
        order.map((arm, position) => [`${arm} ${round}`, 2 * round + position] as const),
      ),
    );
    const time = ({ arm, round }: { arm: string; round: number }): number =>
      places.get(`${arm} ${round}`) ?? 0;
    const ms = (place: Place): number =>
      100 * noise(place) * (1 + 0.002 * time(place)) * (place.arm === 'head' ? 0.97 : 1);
    const verdict = judge(own, analyse(own, timed(own, { ms }, time)));
    const control = only(controlsOf(verdict, 'order'));
    assert.equal(control.status, 'ok');
    assert.equal(comparisonOf(verdict).detail, 'improved');
    assert.ok(Math.abs((control.percent ?? 0) - 100 * (1 / 0.97 - 1)) < 0.05, `${control.percent}`);
  });
});
