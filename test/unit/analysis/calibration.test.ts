import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { calibrationOf, recordOf } from '../../../src/analysis/calibration.js';
import { smallestMarginPercent } from '../../../src/analysis/smallest-margin.js';
import { sha256 } from '../../../src/digest.js';
import { exitCodeOfRecords } from '../../../src/session/calibrate.js';
import { cellRecord, plantedRecord, roundsOf, sessionRecord } from '../../fixtures/calibration.js';
import { alterAnswers, makeJournal, makePlan, verdictOf } from '../../fixtures/journal.js';

const place = {
  runFolder: '/runs/x',
  finishedAt: '2026-11-29T12:10:00Z',
  machineId: sha256('machine'),
  kernel: '6.1.0',
  cpu: 'A CPU',
};

const plan = makePlan({
  arms: { a: {}, b: {} },
  protocol: { warmups: 1, samples: 3, looks: [6], clock: 'cpu', nullRounds: 0 },
});

describe('the record of a session', () => {
  const ms = ({ arm, round, index }: { arm: string; round: number; index: number }): number =>
    100 * Math.exp((arm === 'b' ? round / 1000 : 0) + index / 500);

  test('has the log ratio of each round, which arm came second, and the spread inside of launches', () => {
    const record = recordOf(plan, makeJournal(plan, { ms }), verdictOf(plan, { ms }), place);
    const [cell] = record.cells;
    assert.equal(record.clock, 'cpu');
    assert.equal(record.plantedPercent, null);
    assert.equal(cell?.verdict, 'pass');
    assert.deepEqual(
      cell.rounds.map(({ armSecond }) => armSecond),
      plan.rounds.map(({ order }) => order.indexOf('b') > order.indexOf('a')),
    );
    for (const [round, { lnRatio }] of cell.rounds.entries())
      assert.ok(Math.abs(lnRatio + round / 1000) < 1e-9, `round ${round}: ${lnRatio}`);
    // Three samples 0.002 apart: MAD 0.002, times 1.4826 and the factor of three values.
    assert.ok(Math.abs((cell.requestDeviation ?? 0) - 0.002 * 1.4826 * 1.486) < 1e-9);
  });

  test('has no rounds where a proof is missing', () => {
    const alter = alterAnswers(
      () => true,
      () => ({ cacheN: 16 }),
    );
    const record = recordOf(plan, makeJournal(plan, { alter }), verdictOf(plan, { alter }), place);
    assert.equal(record.cells[0]?.verdict, 'cold-unproved');
    assert.deepEqual(record.cells[0].rounds, []);
  });
});

describe('a calibration', () => {
  test('pools sessions of equal arms by workload and cell, and leaves the planted one out', () => {
    const other = sessionRecord({ workload: 'small', cells: [cellRecord({ id: '64/32' })] });
    const { sessions, cells } = calibrationOf([
      sessionRecord(),
      sessionRecord(),
      other,
      plantedRecord('fail'),
    ]);
    assert.equal(sessions, 3);
    assert.deepEqual(
      cells.map(({ workload, id, noise }) => [workload, id, noise.sessions, noise.rounds]),
      [
        ['mini, experts rocmfp2, seed 1', '401/512', 2, 12],
        ['small', '64/32', 1, 6],
      ],
    );
    const [first] = cells;
    assert.ok(first);
    assert.deepEqual(
      first.margins.map(({ rounds, percent }) => [rounds, percent]),
      [6, 24].map((rounds) => [rounds, smallestMarginPercent(first.noise.round.value, rounds, 0.0194)]),
    );
  });

  test('counts equal cells that were called different, and those that were not measured', () => {
    const { alarms } = calibrationOf([
      sessionRecord({
        cells: [
          cellRecord({ verdict: 'fail', detail: 'beyond-budget' }),
          cellRecord({ detail: 'improved' }),
          cellRecord({ verdict: 'contaminated', detail: null, rounds: [] }),
          cellRecord({ verdict: 'inconclusive', detail: null }),
        ],
      }),
    ]);
    const { failShare, ...counts } = alarms;
    assert.deepEqual(counts, { cells: 3, failed: 1, improved: 1, refused: 1 });
    assert.ok(failShare.lower > 0 && failShare.lower < 1 / 3 && failShare.upper > 1 / 3);
  });

  test('finds a planted slowdown only where every cell fails', () => {
    const half = { ...plantedRecord('fail'), cells: [cellRecord({ verdict: 'fail' }), cellRecord()] };
    const planted = [
      plantedRecord('fail'),
      half,
      plantedRecord('inconclusive'),
      plantedRecord('contaminated'),
    ];
    assert.deepEqual(
      calibrationOf(planted).planted.map(({ found }) => found),
      [true, false, false],
    );
  });

  test('ends with 0, 10 or the code of what was not proved', () => {
    const contaminated = sessionRecord({ result: 'contaminated', cells: [] });
    const alarm = sessionRecord({ result: 'fail', cells: [cellRecord({ verdict: 'fail' })] });
    const noisy = sessionRecord({ result: 'inconclusive', cells: [cellRecord({ verdict: 'inconclusive' })] });
    assert.equal(exitCodeOfRecords([sessionRecord(), noisy, plantedRecord('fail')]), 0);
    assert.equal(exitCodeOfRecords([sessionRecord(), plantedRecord('pass')]), 10);
    assert.equal(exitCodeOfRecords([alarm, plantedRecord('fail')]), 10);
    assert.equal(exitCodeOfRecords([sessionRecord()]), 10);
    assert.equal(exitCodeOfRecords([contaminated, plantedRecord('fail')]), 14);
  });

  test('says nothing of the noise without two rounds', () => {
    assert.deepEqual(
      calibrationOf([sessionRecord({ cells: [cellRecord({ rounds: roundsOf([0.1]) })] })]).cells,
      [],
    );
    assert.deepEqual(calibrationOf([]).alarms.failShare, { lower: 0, upper: 1 });
  });
});
