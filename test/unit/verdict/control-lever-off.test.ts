/** The lever-off arm, from a journal to what follows: a claim stands or is demoted. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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
import { alterAnswers, alterWitness, type Draft, verdictOf } from '../../fixtures/journal.js';

describe('a lever-off arm', () => {
  const arms = {
    base: { revision: 'a' },
    head: { revision: 'b' },
    off: { revision: 'b', switches: { DFLASH_NEW: '0' }, control: 'lever-off' },
  } as const;
  const plan = planOf({ arms });
  /** Head's engine knows a switch that base's does not. */
  const alter = (draft: Draft): Draft => {
    if (draft.kind !== 'ready' || draft.launch.endsWith('-base') || draft.launch.endsWith('-null'))
      return draft;
    const switches = { DFLASH_NEW: '1', ...draft.witness.switches };
    return { ...draft, witness: { ...draft.witness, switches } };
  };

  test('as fast as the reference leaves the gain to the head', () => {
    const verdict = verdictOf(plan, { ...times({ head: 0.9 }), alter });
    assert.equal(comparisonOf(verdict).detail, 'improved', JSON.stringify(verdict.reasons));
    const control = only(controlsOf(verdict, 'lever-off'));
    assert.deepEqual([control.status, control.arm, control.limitPercent], ['ok', 'off', 2]);
    assert.deepEqual(
      only(verdict.cells).comparisons.map(({ arm }) => arm),
      ['head'],
    );
    assert.ok(!codesOf(verdict.warnings).includes('lever-untested'));
  });

  test('that keeps the gain, or loses speed, or is too noisy to tell takes the claim away, and nothing else', () => {
    const noisy = (place: Place): number =>
      100 *
      noise(place) *
      (place.arm === 'head' ? 0.9 : place.arm === 'off' ? 1 + 0.05 * (place.round % 2) : 1);
    for (const options of [times({ head: 0.9, off: 0.9 }), times({ head: 0.9, off: 1.05 }), { ms: noisy }]) {
      const verdict = verdictOf(plan, { ...options, alter });
      assert.equal(verdict.exitCode, 0);
      const { detail, reasons, effect } = comparisonOf(verdict);
      assert.equal(detail, 'neutral');
      assert.deepEqual(codesOf(reasons), ['gain-not-the-levers']);
      assert.match(only(reasons).message, /off against base [+-±]\d.* % \(/);
      assert.notEqual(effect?.minimumDetectablePercent, null);
    }
  });

  test('says whether it is outside of the budget or only not shown to be within', () => {
    const noisy = (place: Place): number =>
      100 * noise(place) * (place.arm === 'off' ? 1 + 0.05 * (place.round % 2) : 1);
    const outside = only(controlsOf(verdictOf(plan, { ...times({ off: 1.05 }), alter }), 'lever-off'));
    const unclear = only(controlsOf(verdictOf(plan, { ms: noisy, alter }), 'lever-off'));
    assert.deepEqual([outside.status, unclear.status], ['exceeded', 'unclear']);
    assert.match(outside.message, /, shown to be outside ±2 %$/);
    assert.match(unclear.message, /, not shown to be within ±2 %$/);
  });

  test('that is not proved to be comparable shows nothing of the kind', () => {
    const other = alterAnswers(
      ({ launch }) => launch.endsWith('-off'),
      ({ prompt }) => ({ logitsSha256: prompt.length.toString(16).padStart(64, '0') }),
    );
    const verdict = verdictOf(plan, { ...times({ head: 0.9 }), alter: (draft) => other(alter(draft)) });
    assert.equal(comparisonOf(verdict).detail, 'neutral');
    assert.equal(only(controlsOf(verdict, 'lever-off')).status, 'not-taken');
    assert.match(
      only(controlsOf(verdict, 'lever-off')).message,
      /^off is not proved to be comparable with base: .*; see [a-z-]+ in docs\/validity\.md, then measure again$/,
    );
  });

  test('with a switch that no engine knows says so, and what to do', () => {
    const verdict = verdictOf(plan, {
      ...times({ head: 0.9 }),
      alter: alterWitness('off', { switches: {} }),
    });
    assert.match(
      only(controlsOf(verdict, 'lever-off')).message,
      /comparable with base: r\S+-off: asked for DFLASH_NEW=0, but the engine does not know it; give the lever a name/,
    );
  });

  test('decides nothing by itself', () => {
    const verdict = verdictOf(plan, { ...times({ off: 2 }), alter });
    assert.equal(verdict.exitCode, 0);
  });

  test('that is not there is missed by a warning that names the new switches', () => {
    const { off: _, ...two } = arms;
    const without = planOf({ arms: two });
    const warning = verdictOf(without, { alter }).warnings.find(({ code }) => code === 'lever-untested');
    assert.match(warning?.message ?? '', /head brings DFLASH_NEW/);
    assert.ok(!codesOf(verdictOf(without).warnings).includes('lever-untested'));
  });
});
