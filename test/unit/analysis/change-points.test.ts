/** Change points of series whose truth is known: how often one is seen where there is none, and how often the one that there is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ChangePointOptions, changePoints, fewestValues } from '../../../src/analysis/change-points.js';
import { sha256 } from '../../../src/digest.js';
import { Stream } from '../../../src/plan/stream.js';
import { FastDraw } from '../../../src/simulation/draw.js';

/** Logarithms of rates with 1 % of noise from session to session, the last `shifted` of them lower by `percent`. */
function series(
  seed: string,
  length: number,
  { percent = 0, shifted = 0, tails = false }: { percent?: number; shifted?: number; tails?: boolean } = {},
): number[] {
  const draw = new FastDraw(new Stream(sha256(seed), 'series'));
  return Array.from({ length }, (_, at) => {
    // Student's t with three degrees of freedom: now and then a session that is far off.
    const scale = tails ? Math.sqrt((draw.normal() ** 2 + draw.normal() ** 2 + draw.normal() ** 2) / 3) : 1;
    const level = at >= length - shifted ? Math.log1p(-percent / 100) : 0;
    return Math.log(2000) + level + (0.01 * draw.normal()) / scale;
  });
}

/** Share of `count` series in which something is seen. */
function alarms(count: number, make: (seed: string) => number[], options?: ChangePointOptions): number {
  const found = Array.from({ length: count }, (_, at) => changePoints(make(`series ${at}`), options) ?? []);
  return found.filter((points) => points.length > 0).length / count;
}

const quick = { permutations: 199 };

describe('change points', () => {
  for (const length of [10, 20, 40, 60])
    test(`are seen in at most 5 % of stable series of ${length} sessions`, () => {
      const normal = alarms(500, (seed) => series(seed, length), quick);
      const tails = alarms(500, (seed) => series(seed, length, { tails: true }), quick);
      assert.ok(normal <= 0.05 && tails <= 0.05, `${normal} of normal series, ${tails} with heavy tails`);
    });

  test('are seen in far more of them by a test that is too easily content: the count above can fail', () => {
    assert.ok(alarms(200, (seed) => series(seed, 20), { ...quick, level: 0.5 }) > 0.3);
  });

  test('show a shift of 3 % under 1 % of noise, and where it is', () => {
    for (const length of [20, 40, 60]) {
      const shifted = length / 2;
      const found = Array.from({ length: 200 }, (_, at) =>
        changePoints(series(`shift ${at}`, length, { percent: 3, shifted }), quick),
      );
      const right = found.filter((points) =>
        points?.some(({ index }) => Math.abs(index - (length - shifted)) <= 2),
      );
      assert.ok(right.length >= 0.95 * found.length, `${right.length} of ${found.length} at ${length}`);
    }
  });

  test('show it soon: of ten sessions after thirty, and mostly of five', () => {
    const power = (shifted: number): number =>
      alarms(200, (seed) => series(seed, 30 + shifted, { percent: 3, shifted }), quick);
    assert.ok(power(10) >= 0.95, String(power(10)));
    assert.ok(power(5) >= 0.8, String(power(5)));
  });

  test('show each of two shifts, in order', () => {
    const first = series('first', 20);
    const low = series('low', 20, { percent: 5, shifted: 20 });
    const found = changePoints([...first, ...low, ...series('last', 20)]) ?? [];
    assert.deepEqual(
      found.map(({ index }) => index),
      [20, 40],
    );
    assert.ok(found.every(({ p }) => p > 0 && p <= 0.02));
  });

  test('are no single spike, however high', () => {
    const values = series('spike', 30);
    values[15] = Math.log(20_000);
    assert.deepEqual(changePoints(values), []);
  });

  test('are not looked for in few values, nor seen among equal ones', () => {
    assert.equal(changePoints(series('few', fewestValues - 1)), null);
    assert.deepEqual(changePoints(Array.from({ length: 30 }, () => 7.6)), []);
  });

  test('are the same each time', () => {
    const values = series('again', 40, { percent: 2, shifted: 20 });
    assert.deepEqual(changePoints(values), changePoints(values));
  });
});
