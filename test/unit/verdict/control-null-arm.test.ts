/** The null arm, from a journal to what follows: refused, undecided, or told. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import type { Entry } from '../../../src/journal/entries.js';
import { controlLines } from '../../../src/report/controls.js';
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
  times,
} from '../../fixtures/control-journal.js';
import { alterAnswers, alterWitness, makeJournal, verdictOf } from '../../fixtures/journal.js';

describe('the null arm', () => {
  const plan = planOf();

  test('as fast as the reference is a control that is in order, and no comparison', () => {
    const verdict = verdictOf(plan, times({ head: 0.9 }));
    assert.equal(verdict.exitCode, 0, JSON.stringify(verdict.reasons));
    assert.deepEqual(
      only(verdict.cells).comparisons.map(({ arm }) => arm),
      ['head'],
    );
    assert.deepEqual(Object.keys(only(verdict.cells).arms), ['base', 'head']);
    const control = only(controlsOf(verdict, 'null'));
    assert.equal(control.status, 'ok');
    assert.equal(control.rounds, 2);
    assert.equal(control.limitPercent, 1);
    assert.ok(Math.abs(control.percent ?? 9) < 0.1);
  });

  test('that differs from the reference contaminates the cell, with the figures', () => {
    for (const factor of [0.9, 1.1]) {
      const verdict = verdictOf(plan, times({ head: 0.9, null: factor }));
      assert.equal(verdict.exitCode, 14);
      const { verdict: name, effect, reasons } = comparisonOf(verdict);
      assert.equal(name, 'contaminated');
      assert.equal(effect, null);
      assert.deepEqual(only(verdict.cells).arms, {});
      assert.deepEqual(codesOf(reasons), ['null-arm-moved']);
      assert.match(
        only(reasons).message,
        /base against itself [+-]\d+\.\d+ % \(.* to .*, 2 rounds\), limit ±1 %/,
      );
      assert.equal(only(controlsOf(verdict, 'null')).status, 'exceeded');
      // Slot and order are of the effect, which a refused comparison does not show.
      const names = verdict.controls.map(({ name }) => name);
      assert.deepEqual(names, ['null', 'warm-up', 'warm-up']);
    }
  });

  test('that differs by less than half the budget is in order', () => {
    assert.equal(verdictOf(plan, times({ head: 0.9, null: 1.008 })).exitCode, 0);
  });

  test('whose two rounds do not agree shows nothing', () => {
    const ms = (place: Place): number =>
      (place.arm === 'null' ? (place.round === 0 ? 104 : 100) : 100) * noise(place);
    const verdict = verdictOf(plan, { ms });
    assert.equal(verdict.exitCode, 0);
    // Neither within its limit nor beyond: no refusal, and not in order either.
    const { status, lowerPercent, upperPercent } = only(controlsOf(verdict, 'null'));
    assert.ok((lowerPercent ?? 0) < -1 && (upperPercent ?? 0) > 1);
    assert.equal(status, 'unclear');
    assert.ok(
      controlLines(verdict).some(({ text }) => /^cannot tell at this noise, 64\/32: base/.test(text)),
    );
  });

  test('of one round is not taken', () => {
    const verdict = verdictOf(planOf({ protocol: { looks: [1] } }), times({ null: 2 }));
    assert.equal(verdict.exitCode, 11);
    const control = only(controlsOf(verdict, 'null'));
    assert.deepEqual([control.status, control.rounds, control.percent], ['not-taken', 1, null]);
  });

  test('that the plan does without is missed by a warning', () => {
    const codes = (nullRounds: number): string[] => codesOf(verdictOf(planOf({ nullRounds })).warnings);
    assert.ok(codes(0).includes('no-null-arm'));
    assert.ok(!codes(2).includes('no-null-arm'));
  });

  test('must be launched in its rounds, and in no others', () => {
    const journal = makeJournal(plan);
    const at = (name: string) => (entry: (typeof journal)[number]) =>
      'launch' in entry && entry.launch === name;
    const lost = journal.filter((entry) => !at('r1-null')(entry));
    const verdict = judge(plan, analyse(plan, lost));
    assert.equal(verdict.exitCode, 12);
    assert.match(only(verdict.reasons).message, /arm null has 1 of 2 rounds/);
  });

  test('must be cold, like any other', () => {
    const alter = alterAnswers(
      ({ launch }) => launch.endsWith('-null'),
      () => ({ cacheN: 16 }),
    );
    assert.equal(verdictOf(plan, { alter }).result, 'cold-unproved');
  });

  test('must answer as the reference does', () => {
    const alter = alterAnswers(
      ({ launch }) => launch.endsWith('-null'),
      ({ prompt }) => ({ logitsSha256: prompt.length.toString(16).padStart(64, '0') }),
    );
    const verdict = verdictOf(plan, { alter });
    assert.equal(verdict.exitCode, 13);
    assert.match(only(comparisonOf(verdict).reasons).message, /^null against base: tokens or logits differ/);
    assert.deepEqual(verdict.controls, []);
  });

  test('must be the build that was made for it, with the threads of the others', () => {
    for (const change of [{ buildDigest: 'f'.repeat(64) }, { threads: 3 }]) {
      const verdict = verdictOf(plan, { alter: alterWitness('null', change) });
      assert.equal(verdict.exitCode, 14);
      assert.equal(verdict.result, 'unmatched');
      assert.match(only(comparisonOf(verdict).reasons).message, /null/);
    }
  });

  test('is a second build that comes out the same', () => {
    const entries = makeJournal(plan).flatMap((entry): Entry[] => {
      if (entry.kind !== 'build') return [entry];
      const own = { ...entry, arms: entry.arms.filter((arm) => arm !== 'null') };
      return [own, { ...entry, arms: ['null'], elsewhere: true }];
    });
    assert.equal(judge(plan, analyse(plan, entries)).exitCode, 0);
    const apart = entries.map((entry) => {
      if (entry.kind !== 'ready' || !entry.launch.endsWith('-null')) return entry;
      const switches = { ...entry.witness.switches, DFLASH_OTHER: '1' };
      return { ...entry, witness: { ...entry.witness, switches } };
    });
    assert.equal(only(comparisonOf(judge(plan, analyse(plan, apart))).reasons).code, 'switch-differs');
    const rebuilt = (change: object) => {
      const other = entries.map((entry) =>
        entry.kind === 'build' && entry.arms.includes('null') ? { ...entry, ...change } : entry,
      );
      return codesOf(comparisonOf(judge(plan, analyse(plan, other))).reasons);
    };
    assert.deepEqual(rebuilt({ toolchain: { cmake: '4' } }), ['toolchain-differs']);
    assert.deepEqual(rebuilt({ binarySha256: 'e'.repeat(64) }), ['binary-differs']);
  });

  test('stops a session at its first look', () => {
    const long = planOf({ protocol: { looks: [6, 12] } });
    const wide = (place: Place): number =>
      100 * noise(place) * (place.arm === 'head' && place.round % 2 ? 1.03 : 1);
    const entries = (factor: number) =>
      makeJournal(long, { rounds: 6, ms: (place) => wide(place) * (place.arm === 'null' ? factor : 1) });
    assert.deepEqual(undecidedCells(long, entries(1)), ['64/32']);
    assert.deepEqual(undecidedCells(long, entries(1.1)), []);
  });
});
