/** What is one series, and what its changes say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import type { GoodLine } from '../../../src/history/run-line.js';
import { seriesOf } from '../../../src/history/series.js';
import { cell, goodLine } from '../../fixtures/run-lines.js';

const other = sha256('another');

describe('series of past runs', () => {
  test('hold the sessions of one build, workload, model, machine and clock, in order of time', () => {
    const lines = [goodLine(3), goodLine(1), goodLine(2)];
    const [only, ...more] = seriesOf(lines, '401/512');
    assert.deepEqual(more, []);
    assert.deepEqual(
      only?.points.map(({ startedAt }) => startedAt.slice(14, 16)),
      ['01', '02', '03'],
    );
    assert.deepEqual(only?.shifts, { base: null, null: null }, 'three sessions are too few to look');
  });

  const differences: [string, Partial<GoodLine>][] = [
    ['machine', { machineId: other }],
    ['model', { model: other }],
    ['build of the base', { baseBuild: other }],
    ['clock', { clock: 'cpu' }],
    ['workload, samples, switches or threads', { cells: [cell(2000, { conditions: other })] }],
  ];
  for (const [what, difference] of differences)
    test(`never mix two of a ${what}`, () => {
      const found = seriesOf([goodLine(1), goodLine(2), goodLine(3, difference)], '401/512');
      assert.deepEqual(
        found.map(({ points }) => points.length),
        [2, 1],
      );
    });

  test('do mix matrices of another name and digest: what is not the base arm makes no difference to it', () => {
    const matrix = { name: 'prefill-short-pr', digest: other };
    const [only, ...more] = seriesOf([goodLine(1), goodLine(2, { matrix })], '401/512');
    assert.deepEqual([more.length, only?.matrices], [0, ['prefill-short', 'prefill-short-pr']]);
  });

  test('leave out what was simulated, what has no proved rate, and other cells', () => {
    const lines = [
      goodLine(1, { simulated: true }),
      goodLine(2, { cells: [cell(2000, { base: null, null: null })] }),
      goodLine(3, { cells: [cell(2000, { id: '2048/2048' })] }),
    ];
    assert.deepEqual(seriesOf(lines, '401/512'), []);
  });

  test('show where the level of the machine changed, by how much, and what else changed there', () => {
    const noise = (at: number): number => 1 + 0.002 * ((at * 7) % 5);
    const lines = Array.from({ length: 24 }, (_, at) => {
      const rate = (at < 14 ? 2000 : 1940) * noise(at);
      const kernel = at < 14 ? '6.1.0' : '6.9.0';
      // Every third session has no null arm.
      return goodLine(at, { kernel, cells: [cell(rate, at % 3 === 0 ? { null: null } : {})] });
    });
    const [only] = seriesOf(lines, '401/512');
    const [shift, ...more] = only?.shifts.base ?? [];
    assert.deepEqual(more, []);
    assert.deepEqual(
      [shift?.session, shift?.sessionsBefore, shift?.sessionsAfter, shift?.changed],
      ['20261129-121400-abcdef', 14, 10, ['kernel 6.1.0 -> 6.9.0']],
    );
    assert.ok(shift && shift.percent > -3.6 && shift.percent < -2.4, String(shift?.percent));
    assert.equal(only?.shifts.null?.[0]?.session, '20261129-121400-abcdef', 'the null arm shows it too');
  });
});
