import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { binomialInterval } from '../../../src/analysis/binomial-interval.js';
import { chiSquareCdf, chiSquareQuantile } from '../../../src/analysis/chi-square.js';
import { medianVariance, noiseOf, requestDeviation } from '../../../src/analysis/noise.js';
import { passChance, smallestMarginPercent } from '../../../src/analysis/smallest-margin.js';
import { mean, median, robustSigma, sampleDeviation } from '../../../src/analysis/statistics.js';
import { tQuantile } from '../../../src/analysis/student-t.js';

const near = (actual: number, expected: number, within: number, what = ''): void =>
  assert.ok(Math.abs(actual - expected) <= within, `${what} ${actual} is not ${expected} +- ${within}`);

/** Normal values from a fixed seed: xorshift32 and Box-Muller. */
function normals(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

describe('chi-square', () => {
  test('has the quantiles of the tables', () => {
    const table: [number, number, number][] = [
      [0.95, 1, 3.841459],
      [0.05, 5, 1.145476],
      [0.95, 5, 11.070498],
      [0.05, 10, 3.940299],
      [0.975, 23, 38.075627],
      [0.95, 100, 124.342113],
    ];
    for (const [probability, freedom, value] of table)
      near(chiSquareQuantile(probability, freedom), value, 1e-6, `${probability} ${freedom}`);
  });

  test('inverts its own distribution for every few degrees of freedom', () => {
    for (let freedom = 1; freedom <= 60; freedom += 1)
      near(chiSquareCdf(chiSquareQuantile(0.3, freedom), freedom), 0.3, 1e-12);
    assert.throws(() => chiSquareQuantile(1, 3), RangeError);
    assert.throws(() => chiSquareQuantile(0.5, 0), RangeError);
  });
});

describe('the interval of a share', () => {
  test('is that of Clopper and Pearson', () => {
    near(binomialInterval(5, 10, 0.95).lower, 0.187086, 1e-6);
    near(binomialInterval(5, 10, 0.95).upper, 0.812914, 1e-6);
    near(binomialInterval(0, 10, 0.95).upper, 0.308497, 1e-6);
    near(binomialInterval(10, 10, 0.95).lower, 1 - 0.308497, 1e-6);
    // No failure in 59 is what it takes to say "at most 5 %" with one-sided 95 %.
    near(binomialInterval(0, 59, 0.9).upper, 0.04951, 1e-4);
    assert.deepEqual(binomialInterval(0, 0, 0.95), { lower: 0, upper: 1 });
    assert.throws(() => binomialInterval(3, 2, 0.95), RangeError);
  });
});

describe('the smallest margin', () => {
  test('comes from the chance that an unchanged cell passes, which simulation confirms', () => {
    // Simulated with t at one-sided .05: coefficient of variation, margin, rounds, share that pass.
    const simulated: [number, number, number, number][] = [
      [0.5, 1, 5, 0.83],
      [1, 1, 5, 0.37],
      [1, 1, 10, 0.67],
      [1, 1, 20, 0.92],
      [1, 2, 10, 0.99],
      [2, 5, 5, 0.95],
    ];
    for (const [cv, margin, rounds, share] of simulated) {
      const error = (Math.SQRT2 * cv) / 100 / Math.sqrt(rounds);
      near(passChance(-Math.log1p(-margin / 100) / error, rounds, 0.05), share, 0.012, `${cv} ${margin}`);
    }
  });

  test('is met 9 times in 10 by simulated rounds without a change', () => {
    const normal = normals(7);
    for (const rounds of [6, 24]) {
      const margin = Math.log1p(-smallestMarginPercent(0.01, rounds, 0.0194) / 100);
      const t = tQuantile(1 - 0.0194, rounds - 1);
      let passed = 0;
      for (let run = 0; run < 20_000; run++) {
        const values = Array.from({ length: rounds }, () => 0.01 * normal());
        if (mean(values) - (t * sampleDeviation(values)) / Math.sqrt(rounds) > margin) passed += 1;
      }
      near(passed / 20_000, 0.9, 0.01, `${rounds} rounds`);
    }
  });

  test('grows with the noise and falls with the rounds', () => {
    const [few, many] = [6, 24].map((rounds) => smallestMarginPercent(0.01, rounds, 0.0194));
    assert.ok((few ?? 0) > (many ?? 0));
    near(smallestMarginPercent(0.002, 6, 0.0194) * 5, few ?? 0, 0.05);
    assert.equal(Math.abs(smallestMarginPercent(0, 6, 0.0194)), 0);
  });
});

describe('robust deviations', () => {
  test('are right in the mean for few normal values', () => {
    const normal = normals(11);
    for (const count of [2, 3, 4, 5, 8, 12, 20]) {
      const runs = Array.from({ length: 20_000 }, () => Array.from({ length: count }, normal));
      near(mean(runs.map(robustSigma)), 1, 0.02, `${count} values`);
      near(sampleDeviation(runs.map(median)) ** 2 / medianVariance(count), 1, 0.05, `median of ${count}`);
    }
  });

  test('do not follow one slow request', () => {
    const values = [0.0, 0.001, -0.001, 0.002, -0.5];
    assert.ok(robustSigma(values) < 0.003);
    assert.equal(requestDeviation([[1]]), null);
  });
});

describe('the noise of a machine', () => {
  const [request, launch, slot, samples] = [0.01, 0.006, -0.004, 5];

  /** Sessions with known components; the place in the round alternates. */
  function sessions(count: number, rounds: number, seed: number) {
    const normal = normals(seed);
    return Array.from({ length: count }, () => {
      const launches: number[][] = [];
      const oneLaunch = (shift: number): number => {
        const own = shift + launch * normal();
        const values = Array.from({ length: samples }, () => own + request * normal());
        launches.push(values);
        return median(values);
      };
      const made = Array.from({ length: rounds }, (_, round) => {
        const armSecond = round % 2 === 0;
        const reference = oneLaunch(armSecond ? 0 : slot);
        return { lnRatio: oneLaunch(armSecond ? slot : 0) - reference, armSecond };
      });
      return { rounds: made, requestDeviation: requestDeviation(launches), samplesPerLaunch: samples };
    });
  }

  test('is taken apart into what it was made of', () => {
    const noise = noiseOf(sessions(60, 24, 3));
    assert.ok(noise?.request && noise.launch !== null && noise.launchToRequest !== null);
    near(noise.request, request, 0.0005, 'request');
    near(noise.launch, launch, 0.0008, 'launch');
    near(noise.launchToRequest, 0.6, 0.08, 'ratio');
    near(noise.slot.value, slot, 0.001, 'slot');
    assert.ok(noise.slot.upper < 0, 'the second place is seen to be slower');
    const expected = Math.sqrt(2 * (launch ** 2 + 0.2868 * request ** 2) + slot ** 2);
    near(noise.round.value, expected, 0.0005, 'round');
    assert.equal(noise.rounds, 60 * 24);
  });

  test('gives intervals that hold the truth as often as they say', () => {
    const expected = Math.sqrt(2 * (launch ** 2 + 0.2868 * request ** 2) + slot ** 2);
    let [round, place] = [0, 0];
    for (let run = 0; run < 1000; run++) {
      const noise = noiseOf(sessions(2, 6, 1000 + 7 * run));
      assert.ok(noise);
      if (noise.round.lower < expected && expected < noise.round.upper) round += 1;
      if (noise.slot.lower < slot && slot < noise.slot.upper) place += 1;
    }
    near(round / 1000, 0.9, 0.05, 'deviation of a round');
    near(place / 1000, 0.95, 0.03, 'second place');
  });

  test('never gives launches a negative variance, nor a share to one sample a launch', () => {
    const still = { rounds: [0.001, -0.001, 0.001, -0.001], armSecond: true };
    const rounds = still.rounds.map((lnRatio) => ({ lnRatio, armSecond: true }));
    assert.equal(noiseOf([{ rounds, requestDeviation: 0.05, samplesPerLaunch: 5 }])?.launch, 0);
    const single = noiseOf([{ rounds, requestDeviation: null, samplesPerLaunch: 1 }]);
    assert.deepEqual([single?.request, single?.launch, single?.launchToRequest], [null, null, null]);
    assert.equal(noiseOf([]), null);
    assert.equal(
      noiseOf([{ rounds: rounds.slice(0, 1), requestDeviation: null, samplesPerLaunch: 1 }]),
      null,
    );
  });
});
