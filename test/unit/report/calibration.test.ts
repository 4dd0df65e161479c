import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calibrationOf } from '../../../src/analysis/calibration.js';
import { describeCalibration } from '../../../src/report/calibration.js';
import { cellRecord, plantedRecord, sessionRecord } from '../../fixtures/calibration.js';

const shown = (records: Parameters<typeof calibrationOf>[0]): string =>
  describeCalibration(records, calibrationOf(records));

test('a calibration says what was found in 80 columns', () => {
  const text = shown([sessionRecord(), sessionRecord(), plantedRecord('fail')]);
  assert.ok(
    text.split('\n').every((line) => line.length <= 80),
    text,
  );
  const flat = text.replaceAll(/\s+/g, ' ');
  for (const part of [
    'Calibration of A CPU, engine embedded, by wall time',
    '12 rounds of 2 A/A sessions',
    '0.40 % CV inside of launches',
    '0 of 2 equal cells called a fail',
    'slowdown of 3 %: found; 401/512 fail, beyond-budget after 6 rounds under a margin of 2 %',
    'A/A, pass: test-session in /runs/test-session',
  ])
    assert.ok(flat.includes(part), `${part} is not in ${flat}`);
});

test('a calibration says what is not known, and what was not found', () => {
  const cell = cellRecord({ requestDeviation: null, samplesPerLaunch: 1 });
  const flat = shown([sessionRecord({ cells: [cell] }), plantedRecord('inconclusive')]).replaceAll(
    /\s+/g,
    ' ',
  );
  assert.ok(flat.includes('one a launch: not known'), flat);
  assert.ok(flat.includes('NOT FOUND'), flat);
});

test('a calibration drives no terminal by what it was told', () => {
  assert.ok(!shown([sessionRecord({ cpu: 'evil\u001b[2J' })]).includes('\u001b'));
});
