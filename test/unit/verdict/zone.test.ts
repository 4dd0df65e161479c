import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LogEffect } from '../../../src/analysis/effect.js';
import { decide, logMargin } from '../../../src/verdict/zone.js';

const effect = (lower: number, upper: number): LogEffect => ({
  perRound: [0, 0, 0, 0, 0, 0],
  centre: (lower + upper) / 2,
  t: { lower, upper },
  walsh: null,
  deciding: { lower, upper },
  level: 0.0194,
  improvedP: 0.5,
});
const margin = logMargin(2);

test('the margin is ln(1 - m)', () => {
  assert.ok(Math.abs(margin - Math.log(0.98)) < 1e-15);
});

test('each zone has its verdict, at any look', () => {
  for (const last of [false, true]) {
    assert.deepEqual(decide(effect(0.01, 0.02), 2, last), { verdict: 'pass', detail: 'improved' });
    assert.deepEqual(decide(effect(-0.01, 0.01), 2, last), { verdict: 'pass', detail: 'neutral' });
    assert.deepEqual(decide(effect(-0.019, -0.001), 2, last), {
      verdict: 'pass',
      detail: 'slower-in-budget',
    });
    assert.deepEqual(decide(effect(-0.06, -0.03), 2, last), { verdict: 'fail', detail: 'beyond-budget' });
  }
});

test('what is undecided goes on, and is called by its name at the cap only', () => {
  assert.equal(decide(effect(-0.03, -0.01), 2, false), null);
  assert.equal(decide(effect(-0.03, 0.01), 2, false), null);
  assert.deepEqual(decide(effect(-0.03, -0.01), 2, true), { verdict: 'fail', detail: 'slower-not-cleared' });
  assert.deepEqual(decide(effect(-0.03, 0.01), 2, true), { verdict: 'inconclusive', detail: null });
});

test('a bound on the margin, or on no change, is not beyond it', () => {
  assert.equal(decide(effect(margin, 0.01), 2, false), null);
  assert.equal(decide(effect(-0.05, margin), 2, false), null);
  assert.deepEqual(decide(effect(0, 0.01), 2, true), { verdict: 'pass', detail: 'neutral' });
  assert.deepEqual(decide(effect(-0.03, 0), 2, true), { verdict: 'inconclusive', detail: null });
});

test('without bounds nothing is decided', () => {
  const none = { ...effect(1, 2), deciding: null };
  assert.equal(decide(none, 2, false), null);
  assert.deepEqual(decide(none, 2, true), { verdict: 'inconclusive', detail: null });
});

test('a wider budget never turns a pass into anything else', () => {
  const bound = fc.double({ min: -0.2, max: 0.2, noNaN: true });
  fc.assert(
    fc.property(bound, bound, fc.boolean(), (a, b, last) => {
      const tight = decide(effect(Math.min(a, b), Math.max(a, b)), 2, last);
      const wide = decide(effect(Math.min(a, b), Math.max(a, b)), 5, last);
      if (tight?.verdict === 'pass') assert.deepEqual(wide, tight);
    }),
  );
});
