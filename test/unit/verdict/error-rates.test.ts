/** The rule under simulated noise: how often it is wrong when nothing changed, and when much did. Seeded, so it never wavers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { logEffect } from '../../../src/analysis/effect.js';
import type { Plan } from '../../../src/plan/schema.js';
import { Stream } from '../../../src/plan/stream.js';
import { type Decision, decide } from '../../../src/verdict/zone.js';
import { normal } from '../../fixtures/normal.js';

const looks = [6, 12, 18, 24];
const trials = 400;

/** Verdict of one cell whose launches have `cv` of noise each, and drift over the session in units of the log rate. */
function trial(stream: Stream, effect: number, cv: number, drift: number, interval: 't' | 'walsh'): Decision {
  const decision: Plan['decision'] = { rule: 'zone-v1', looks, levelPerLook: 0.0194, interval };
  const perRound: number[] = [];
  let headFirst = false;
  for (const look of looks) {
    while (perRound.length < look) {
      // The second round of a pair has the other order; which is first is drawn.
      headFirst = perRound.length % 2 === 0 ? stream.below(2) === 0 : !headFirst;
      const step = drift / (2 * (looks.at(-1) ?? 1));
      perRound.push(effect + cv * (normal(stream) - normal(stream)) + (headFirst ? -step : step));
    }
    const decided = decide(logEffect(perRound, decision), 2, look === looks.at(-1));
    if (decided !== null) return decided;
  }
  throw new Error('the cap decides');
}

function share(
  verdict: Decision['verdict'],
  effect: number,
  cv: number,
  drift: number,
  interval: 't' | 'walsh',
): number {
  const stream = new Stream('0'.repeat(64), `${effect} ${cv} ${drift} ${interval}`);
  const verdicts = Array.from({ length: trials }, () => trial(stream, effect, cv, drift, interval).verdict);
  return verdicts.filter((one) => one === verdict).length / trials;
}

for (const interval of ['t', 'walsh'] as const) {
  describe(`by ${interval}`, () => {
    test('an unchanged engine passes at 1 % noise, with and without drift', () => {
      assert.ok(share('pass', 0, 0.01, 0, interval) >= 0.99);
      assert.ok(share('pass', 0, 0.01, -0.04, interval) >= 0.99);
      assert.equal(share('fail', 0, 0.01, -0.04, interval), 0);
    });

    test('an engine at the edge of the budget passes in about one of twenty', () => {
      const passed = share('pass', Math.log(0.98), 0.01, 0, interval);
      assert.ok(passed < 0.09, `${passed}`);
    });

    test('an engine that lost 5 % never passes, one that lost 3 % hardly ever', () => {
      assert.equal(share('pass', Math.log(0.95), 0.01, 0, interval), 0);
      assert.ok(share('pass', Math.log(0.97), 0.01, 0, interval) <= 0.005);
      assert.ok(share('fail', Math.log(0.95), 0.01, 0, interval) >= 0.99);
    });
  });
}
