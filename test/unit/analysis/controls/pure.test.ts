/** The controls on plain numbers: what they read of data whose truth is known. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { leverOff } from '../../../../src/analysis/controls/lever-off.js';
import { nullArm } from '../../../../src/analysis/controls/null-arm.js';
import { orderEffect, type TimedRate } from '../../../../src/analysis/controls/order-effect.js';
import { slotEffect } from '../../../../src/analysis/controls/slot-effect.js';
import { warmUpChange } from '../../../../src/analysis/controls/warm-up.js';
import { tQuantile } from '../../../../src/analysis/student-t.js';
import { turnOf } from '../../../../src/plan/sample-order.js';

const level = 0.0194;
const near = (actual: number | undefined, expected: number, tolerance = 1e-9): void => {
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
};

describe('the null arm', () => {
  test('has the t interval of its rounds, from two on', () => {
    assert.equal(nullArm([0.01], level, 2), null);
    const effect = nullArm([0.01, 0.03], level, 2);
    near(effect?.centre, 0.02);
    near(effect?.lower, 0.02 - (tQuantile(1 - level, 1) * 0.02) / Math.SQRT2 / Math.SQRT2);
  });

  test('takes the spread of the other rounds of the cell for its own, not their effect', () => {
    const [even, odd] = [nullArm([0, 0.02], level, 2, [[0.5, 0.52]]), nullArm([0, 0.02], level, 2, [[]])];
    near(even?.centre, 0.01);
    near(even?.lower, 0.01 - (tQuantile(1 - level, 2) * Math.sqrt(0.0002)) / Math.SQRT2);
    near(odd?.lower, nullArm([0, 0.02], level, 2)?.lower ?? Number.NaN);
  });

  test('has moved when its interval lies beyond half the margin, on either side, and not when it only reaches there', () => {
    assert.equal(nullArm([0.03, 0.0301], level, 2)?.moved, true);
    assert.equal(nullArm([-0.03, -0.0301], level, 2)?.moved, true);
    // As far in the mean, but the two rounds do not agree, or those of the comparison do not.
    assert.equal(nullArm([0.02, 0.0401], level, 2)?.moved, false);
    assert.equal(nullArm([0.03, 0.0301], level, 2, [[0, 0.05, 0.01, 0.06, 0, 0.05]])?.moved, false);
    // Shown to differ, but by less than half the margin.
    assert.equal(nullArm([0.008, 0.008], level, 2)?.moved, false);
    assert.equal(nullArm([0.0101, 0.0101], level, 2)?.moved, true);
    assert.equal(nullArm([0.0101, 0.0101], level, 4)?.moved, false);
  });
});

describe('the lever-off arm', () => {
  test('is equivalent when its whole interval is within the margin on both sides', () => {
    const around = (centre: number, spread: number): number[] =>
      [-1, 1, -1, 1, -1, 1].map((sign) => centre + sign * spread);
    assert.equal(leverOff(around(0, 0.001), level, 2)?.equivalent, true);
    assert.equal(leverOff(around(-0.03, 0.001), level, 2)?.equivalent, false);
    assert.equal(leverOff(around(0.03, 0.001), level, 2)?.equivalent, false);
    // No difference, but too much noise to show that there is none.
    assert.equal(leverOff(around(0, 0.03), level, 2)?.equivalent, false);
    assert.equal(leverOff([0], level, 2), null);
  });
});

describe('warming up', () => {
  const rates = (perPlace: readonly number[], launches = 6): number[][] =>
    Array.from({ length: launches }, (_, launch) =>
      perPlace.map((log, place) => Math.exp(log + 1e-5 * ((launch * 3 + place * 7) % 5))),
    );

  test('is the fitted change from the first sample to the last', () => {
    const change = warmUpChange(rates([0, 0.01, 0.02, 0.03, 0.04]), 0.001);
    near(change?.centre, 0.04, 1e-4);
    assert.ok(change !== null && change.lower > 0.039 && change.upper < 0.041);
    near(warmUpChange(rates([0, 0.01, 0, 0.01, 0]), 0.001)?.centre, 0, 1e-4);
  });

  test('takes a launch for one value, however many samples it has', () => {
    const steep = [0.01, 0.05, 0.02, 0.04, 0.03, 0.03];
    const slopes = steep.map((change) => [0, change / 2, change].map(Math.exp));
    const change = warmUpChange(slopes, 0.001);
    const deviation = Math.sqrt(steep.reduce((sum, value) => sum + (value - 0.03) ** 2, 0) / 5);
    near(change?.centre, 0.03);
    near(change?.lower, 0.03 - (tQuantile(0.999, 5) * deviation) / Math.sqrt(6));
  });

  test('cannot be told of one launch or one sample', () => {
    assert.equal(warmUpChange(rates([0, 0.1], 1), 0.001), null);
    assert.equal(warmUpChange(rates([0]), 0.001), null);
  });

  const cost = [0, 0.02, 0.05, 0.01, 0.03];
  const turned = (ramp: number, launches: number, turn: (launch: number) => number) => {
    const places = [0, 1, 2, 3, 4];
    const prompts = Array.from({ length: launches }, (_, launch) =>
      places.map((place) => `p${(place + turn(launch)) % 5}`),
    );
    const samples = prompts.map((own) =>
      own.map((prompt, place) => Math.exp((cost[Number(prompt.slice(1))] ?? 0) + (ramp * place) / 4)),
    );
    return { prompts, samples };
  };

  test('is told from what prompts cost where launches begin with other prompts', () => {
    for (const launches of [5, 6, 12]) {
      for (const ramp of [0, 0.02]) {
        const { prompts, samples } = turned(ramp, launches, (launch) => turnOf(launch, 5));
        const change = warmUpChange(samples, 0.001, prompts);
        near(change?.centre, ramp, 1e-9);
      }
    }
    // Without the prompts the same launches seem to warm up or to cool down.
    const { samples } = turned(0, 6, () => 0);
    assert.ok(Math.abs(warmUpChange(samples, 0.001)?.centre ?? 0) > 0.01);
  });

  test('is not told where all launches ask in one order', () => {
    const { prompts, samples } = turned(0.02, 6, () => 0);
    assert.equal(warmUpChange(samples, 0.001, prompts), null);
  });
});

describe('the order of samples', () => {
  test('turns so that any number of samples begins evenly', () => {
    assert.deepEqual([0, 1, 2, 3, 4].map((round) => turnOf(round, 5)).toSorted(), [0, 1, 2, 3, 4]);
    for (const count of [2, 3, 5, 8, 20]) {
      const turns = Array.from({ length: 6 * count }, (_, round) => turnOf(round, count));
      assert.ok(turns.every((turn) => turn >= 0 && turn < count));
      for (let turn = 0; turn < count; turn++) {
        const times = turns.filter((one) => one === turn).length;
        assert.ok(times >= 4 && times <= 8, `${turn} of ${count}: ${times}`);
      }
    }
  });
});

describe('the slot effect', () => {
  const orders = [true, false, false, true, true, false];

  test('is what the second launch of a round lost, whatever the effect between the arms', () => {
    for (const effect of [0, 0.5, -0.1]) {
      const perRound = orders.map((baseFirst) => effect + (baseFirst ? -0.01 : 0.01));
      near(slotEffect(perRound, orders, level)?.centre, -0.01);
      near(slotEffect(perRound, orders, level)?.upper, -0.01);
    }
  });

  test('needs both orders and three rounds', () => {
    assert.equal(slotEffect([0, 0, 0], [true, true, true], level), null);
    assert.equal(slotEffect([0, 0], [true, false], level), null);
    assert.notEqual(slotEffect([0, 0, 0], [true, false, true], level), null);
  });

  test('has an interval that holds the truth as often as it says', () => {
    // Deterministic noise of mean zero in either order: the interval must hold the true slot effect.
    const noise = [0.004, -0.004, 0.002, -0.002, -0.002, 0.006];
    const perRound = orders.map((baseFirst, round) => (baseFirst ? -0.01 : 0.01) + (noise[round] ?? 0));
    const slot = slotEffect(perRound, orders, level);
    assert.ok(slot !== null && slot.lower < -0.01 && slot.upper > -0.01 && slot.upper - slot.lower < 0.05);
  });
});

describe('the order effect', () => {
  const launches = (effect: number, drift: number, times: readonly number[]): TimedRate[] =>
    times.map((time, index) => {
      const isHead = [1, 2, 5, 6, 9, 10].includes(index);
      return { time, isHead, logRate: 3 + (isHead ? effect : 0) + drift * time };
    });

  test('takes a linear drift out, however unevenly the launches lie in time', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -0.5, max: 0.5, noNaN: true }),
        fc.double({ min: -0.1, max: 0.1, noNaN: true }),
        fc.array(fc.double({ min: 1, max: 20, noNaN: true }), { minLength: 12, maxLength: 12 }),
        (effect, drift, gaps) => {
          let now = 0;
          const times = gaps.map((gap) => {
            now += gap;
            return now;
          });
          near(orderEffect(launches(effect, drift, times), level)?.centre, effect, 1e-7);
        },
      ),
    );
  });

  test('does not depend on the unit or the origin of time', () => {
    const times = [1, 2, 3.5, 4, 6, 7, 9, 9.5, 10, 12, 14, 15];
    const wobbly = (scale: number, origin: number): TimedRate[] =>
      launches(0.01, 0.002, times).map((launch, i) => ({
        ...launch,
        logRate: launch.logRate + 0.001 * ((i * 7) % 5),
        time: origin + scale * launch.time,
      }));
    const [a, b] = [orderEffect(wobbly(1, 0), level), orderEffect(wobbly(1e9, 5e12), level)];
    near(a?.centre, b?.centre ?? Number.NaN, 1e-9);
    near(a?.lower, b?.lower ?? Number.NaN, 1e-9);
  });

  test('is none where arm and time are the same thing, or of one arm', () => {
    const blocked = [0, 0, 0, 9, 9, 9].map((time, i) => ({ time, isHead: i > 2, logRate: i }));
    assert.equal(orderEffect(blocked, level), null);
    assert.equal(
      orderEffect(
        blocked.map((launch, time) => ({ ...launch, time, isHead: false })),
        level,
      ),
      null,
    );
    assert.equal(orderEffect(launches(0, 0, [0, 1, 2]), level), null);
  });
});
