import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mean, sampleDeviation } from '../../../src/analysis/statistics.js';
import { type Simulation, simulationSchema } from '../../../src/matrix/simulation.js';
import { Stream } from '../../../src/plan/stream.js';
import { FastDraw, streamDraw } from '../../../src/simulation/draw.js';
import { launchLog, machineCourse, noiseOf, placeLog, requestLog } from '../../../src/simulation/noise.js';
import { type SimulatedLaunch, simulatedRates } from '../../../src/simulation/rate.js';

const quiet = { cvPercent: 0 };
const noise = (parts: Partial<Simulation>) => noiseOf(simulationSchema.parse({ ...quiet, ...parts }));
const draw = () => new FastDraw(new Stream('seed', 'test'));
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const near = (found: number, expected: number, within: number): void =>
  assert.ok(Math.abs(found - expected) <= within, `${found} is not within ${within} of ${expected}`);

describe('both sources of randomness', () => {
  for (const [name, made] of [
    ['by counter', () => streamDraw(new Stream('seed', 'test'))],
    ['fast', draw],
  ] as const) {
    test(`${name}: normals are normal, uniforms uniform, and the same seed gives the same`, () => {
      const source = made();
      const normals = times(20_000, () => source.normal());
      near(mean(normals), 0, 0.03);
      near(sampleDeviation(normals), 1, 0.02);
      near(mean(normals.map((z) => z ** 3)), 0, 0.08);
      near(mean(normals.map((z) => z ** 4)), 3, 0.15);
      near(mean(normals.slice(1).map((z, i) => z * (normals[i] ?? 0))), 0, 0.03);
      const uniforms = times(20_000, () => source.uniform());
      near(mean(uniforms), 0.5, 0.01);
      near(uniforms.filter((u) => u < 0.03).length / 20_000, 0.03, 0.004);
      const [one, other] = [made(), made()];
      assert.deepEqual(
        times(20, () => one.normal()),
        times(20, () => other.normal()),
      );
    });
  }
});

describe('a request', () => {
  test('varies by the coefficient of variation', () => {
    const source = draw();
    const logs = times(20_000, () => requestLog(noise({ cvPercent: 2 }), 0, source));
    near(sampleDeviation(logs), 0.02, 0.0004);
    near(mean(logs), 0, 0.0005);
  });

  test('is slow at first and half as slow each time after', () => {
    const logs = times(4, (index) => requestLog(noise({ warmupRampPercent: 4 }), index, draw()));
    const losses = logs.map((log) => -100 * Math.expm1(log));
    for (const [index, loss] of losses.entries()) near(loss, 4 / 2 ** index, 1e-9);
  });

  test('is hit as often as told, by 2 % to what is told', () => {
    const source = draw();
    const found = noise({ slowHitShare: 0.1, slowHitPercent: 6 });
    const losses = times(20_000, () => -100 * Math.expm1(requestLog(found, 0, source)));
    const hit = losses.filter((loss) => loss > 0);
    near(hit.length / losses.length, 0.1, 0.007);
    assert.ok(Math.min(...hit) >= 2 && Math.max(...hit) <= 6);
    near(mean(hit), 4, 0.1);
  });
});

describe('the machine', () => {
  test('drifts in a straight line to the last launch', () => {
    const course = machineCourse(noise({ driftPercent: -4 }), 9, draw());
    near(100 * Math.expm1(course[8] ?? 0), -4, 1e-9);
    near(course[4] ?? 0, (course[8] ?? 0) / 2, 1e-12);
    assert.equal(course[0], 0);
  });

  test('steps once, after the first launch', () => {
    for (const seed of times(50, String)) {
      const course = machineCourse(noise({ stepPercent: -3 }), 6, new FastDraw(new Stream(seed, 'step')));
      assert.equal(course[0], 0);
      near(100 * Math.expm1(course[5] ?? 0), -3, 1e-9);
      assert.equal(new Set(course).size, 2);
    }
  });

  test('walks by independent steps', () => {
    const course = machineCourse(noise({ walkPercent: 0.5 }), 20_000, draw());
    const steps = times(19_999, (i) => (course[i + 1] ?? 0) - (course[i] ?? 0));
    near(sampleDeviation(steps), 0.005, 0.0001);
  });

  test('slows what is not first in its round, and no other', () => {
    near(100 * Math.expm1(placeLog(noise({ secondSlotPercent: -0.5 }), 1)), -0.5, 1e-9);
    assert.equal(placeLog(noise({ secondSlotPercent: -0.5 }), 0), 0);
  });

  test('gives launches luck of their own', () => {
    const source = draw();
    near(
      sampleDeviation(times(20_000, () => launchLog(noise({ launchCvPercent: 1 }), source))),
      0.01,
      0.0002,
    );
  });
});

describe('the rates of a launch', () => {
  const launch: SimulatedLaunch = {
    simulation: simulationSchema.parse({
      cvPercent: 1,
      launchCvPercent: 1,
      walkPercent: 0.2,
      driftPercent: -4,
    }),
    seed: 'a'.repeat(64),
    slot: 5,
    slots: 48,
    position: 1,
    effectPercent: 0,
    plantedSlowdownPercent: 0,
  };

  test('are the same when a killed launch is repeated, in whatever order they are asked', () => {
    const [once, again] = [simulatedRates(launch), simulatedRates(launch)];
    const forwards = times(8, (index) => once('401/512', index));
    const backwards = times(8, (index) => again('401/512', 7 - index));
    assert.deepEqual(forwards, backwards.toReversed());
  });

  test('are others in another launch, for another shape, from another seed', () => {
    const rate = simulatedRates(launch)('401/512', 0);
    const others = [
      simulatedRates({ ...launch, slot: 6 })('401/512', 0),
      simulatedRates({ ...launch, seed: 'b'.repeat(64) })('401/512', 0),
      simulatedRates(launch)('402/512', 0),
      simulatedRates(launch)('401/512', 1),
    ];
    assert.equal(new Set([rate, ...others]).size, 5);
    // The noise of requests alone, too.
    const plain = { ...launch, simulation: simulationSchema.parse({ cvPercent: 1 }) };
    assert.notEqual(simulatedRates(plain)('401/512', 0), simulatedRates({ ...plain, slot: 6 })('401/512', 0));
  });

  test('have the true effect and the planted slowdown to the letter', () => {
    const rate = simulatedRates(launch)('401/512', 0);
    near(simulatedRates({ ...launch, effectPercent: -3 })('401/512', 0) / rate, 0.97, 1e-12);
    near(simulatedRates({ ...launch, plantedSlowdownPercent: 3 })('401/512', 0) / rate, 1 / 1.03, 1e-12);
  });
});
