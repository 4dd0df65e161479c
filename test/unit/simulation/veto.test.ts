/** The controls of sessions on simulated cells: what each refuses, and what it lets pass. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { warmUpChange } from '../../../src/analysis/controls/warm-up.js';
import { limits } from '../../../src/analysis/limits.js';
import { turnOf } from '../../../src/plan/sample-order.js';
import { Stream } from '../../../src/plan/stream.js';
import { FastDraw } from '../../../src/simulation/draw.js';
import { nullMoved, orderContradicts, type SeenCell, warmUpTooShort } from '../../../src/simulation/veto.js';

interface Shape {
  rise?: number;
  noise?: number;
  samples?: number;
  /** What each prompt costs. */
  costs?: readonly number[];
}

/** Six rounds whose log rates rise within launches from first to last, with noise. */
function seen(arm: 'base' | 'head', { rise = 0, noise = 0.002, samples = 5, costs = [] }: Shape): SeenCell {
  const draw = new FastDraw(new Stream('seed', 'veto'));
  const logs = (ramp: number): number[] =>
    Array.from({ length: 6 * samples }, (_, at) => {
      const [round, place] = [Math.floor(at / samples), at % samples];
      const cost = costs[(place + turnOf(round, samples)) % samples] ?? 0;
      return (samples === 1 ? 0 : (ramp * place) / (samples - 1)) + cost + noise * draw.normal();
    });
  const both = { base: logs(arm === 'base' ? rise : 0), head: logs(arm === 'head' ? rise : 0) };
  const none = { base: [], head: [] };
  return { rounds: 6, samples, logs: both, ratios: [], nullRatios: [], baseMedians: [], times: none };
}

describe('warm-ups', () => {
  for (const arm of ['base', 'head'] as const) {
    test(`are too few where rates of ${arm} rise or fall by surely more than a quarter of the margin`, () => {
      assert.equal(warmUpTooShort(seen(arm, { rise: 0.015 }), 2), 'warm-up-insufficient');
      assert.equal(warmUpTooShort(seen(arm, { rise: -0.015 }), 2), 'warm-up-insufficient');
      assert.equal(warmUpTooShort(seen(arm, {}), 2), null);
      assert.equal(warmUpTooShort(seen(arm, { rise: 0.004 }), 2), null);
      assert.equal(warmUpTooShort(seen(arm, { rise: 0.015, noise: 0.02 }), 2), null);
    });
  }

  test('may leave more where the margin is wider; single samples say nothing', () => {
    assert.equal(warmUpTooShort(seen('head', { rise: 0.015 }), 10), null);
    assert.equal(warmUpTooShort(seen('head', { rise: 0.1, noise: 0, samples: 1 }), 2), null);
  });

  test('are not blamed for what prompts cost, because samples are in the order of sessions', () => {
    const costs = [0, 0.01, 0.02, 0.04, 0.08];
    assert.equal(warmUpTooShort(seen('head', { costs }), 2), null);
    assert.equal(warmUpTooShort(seen('head', { costs, rise: 0.015 }), 2), 'warm-up-insufficient');
  });

  test('are judged by the very figures of a session', () => {
    // Just below and just above what the session's own function bears.
    const rates = ({ logs }: SeenCell): number[][] =>
      Array.from({ length: 6 }, (_, round) =>
        Array.from(logs.head)
          .slice(round * 5, round * 5 + 5)
          .map(Math.exp),
      );
    const prompts = Array.from({ length: 6 }, (_, round) =>
      [0, 1, 2, 3, 4].map((place) => String((place + turnOf(round, 5)) % 5)),
    );
    const refused = Array.from({ length: 40 }, (_, step) => {
      const cell = seen('head', { rise: 0.0004 * step });
      const change = warmUpChange(rates(cell), limits.vetoLevel, prompts);
      assert.ok(change);
      const expected = 100 * Math.expm1(change.lower) > 0.5 ? 'warm-up-insufficient' : null;
      assert.equal(warmUpTooShort(cell, 2), expected);
      return expected !== null;
    });
    assert.ok(refused.includes(true) && refused.includes(false));
  });
});

describe('the null arm', () => {
  const cell = (nullRatios: number[], ratios: number[] = []): SeenCell => ({
    ...seen('head', {}),
    nullRatios,
    ratios,
  });
  const steady = [0.001, -0.001, 0.002, -0.002, 0.001, -0.001];

  test('refuses where the reference surely differs from itself by more than half the margin', () => {
    assert.equal(nullMoved(cell([0.03, 0.031], steady), 2), 'null-arm-moved');
    assert.equal(nullMoved(cell([-0.03, -0.031], steady), 2), 'null-arm-moved');
    assert.equal(nullMoved(cell([0.004, 0.005], steady), 2), null);
    assert.equal(nullMoved(cell([0.03, 0.031], steady), 10), null);
  });

  test('is held against the spread of all rounds, and says nothing where there is none', () => {
    assert.equal(nullMoved(cell([0.03, 0.031], [0.1, -0.1, 0.1, -0.1, 0.1, -0.1]), 2), null);
    assert.equal(nullMoved(cell([], steady), 2), null);
  });
});

describe('the order of launches', () => {
  /** Base first in every round, and a machine that gets faster: head seems faster by a step, and is slower by `truth`. */
  const drifting = (truth: number): SeenCell => {
    const times = { base: [0, 2, 4, 6, 8, 10], head: [1, 3, 5, 7, 9, 11] };
    const baseMedians = times.base.map((time) => 0.01 * time);
    const ratios = times.base.map(() => 0.01 + truth);
    return { ...seen('head', {}), baseMedians, ratios, times };
  };
  const faster = { lower: 0.001, upper: 0.009 };

  test('contradicts an effect that turns round when the drift is taken out', () => {
    assert.equal(orderContradicts(drifting(-0.005), faster, 0.0194), true);
    assert.equal(orderContradicts(drifting(0.005), faster, 0.0194), false);
    assert.equal(orderContradicts(drifting(0.005), { lower: -0.009, upper: -0.001 }, 0.0194), true);
  });

  test('says nothing against bounds that hold none', () => {
    assert.equal(orderContradicts(drifting(-0.005), { lower: -0.001, upper: 0.009 }, 0.0194), false);
    assert.equal(orderContradicts(drifting(-0.005), null, 0.0194), false);
  });
});
