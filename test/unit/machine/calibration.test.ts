import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { judgeCalibration } from '../../../src/machine/calibration-check.js';
import { addCalibration, poolOf, readCalibrations } from '../../../src/machine/calibration-file.js';
import { fingerprint } from '../../../src/machine/fingerprint.js';
import { cellRecord, plantedRecord, sessionRecord } from '../../fixtures/calibration.js';
import { removeFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';
import { scratchRoot } from '../../support/scratch-root.js';

function newPath(t: TestContext): string {
  const folder = mkdtempSync(join(scratchRoot, 'qualify-calibration-'));
  t.after(() => removeFolder(folder));
  return join(folder, 'config', 'calibration.json');
}

describe('calibration.json', () => {
  test('holds what was added, in order, and nothing lies beside it', async (t) => {
    const path = newPath(t);
    assert.deepEqual(await readCalibrations(path), []);
    await addCalibration(sessionRecord({ session: 'the-first' }), path);
    await addCalibration(sessionRecord({ session: 'the-second' }), path);
    assert.deepEqual(
      (await readCalibrations(path)).map(({ session }) => session),
      ['the-first', 'the-second'],
    );
    assert.deepEqual(readdirSync(join(path, '..')), ['calibration.json']);
  });

  test('loses nothing when several are added at once', async (t) => {
    const path = newPath(t);
    const names = Array.from({ length: 8 }, (_, index) => `session-${index}`);
    await Promise.all(names.map((session) => addCalibration(sessionRecord({ session }), path)));
    const found = (await readCalibrations(path)).map(({ session }) => session);
    assert.deepEqual(found.toSorted(), names);
  });

  test('is never written over when it cannot be read', async (t) => {
    const path = newPath(t);
    await addCalibration(sessionRecord(), path);
    for (const text of ['{', '{"schemaVersion":1,"sessions":[{}]}']) {
      writeFileSync(path, text);
      const error = await refusal(addCalibration(sessionRecord(), path));
      assert.equal(error.code, 'ERR_QUALIFY_CALIBRATION');
      assert.equal(error.exitCode, 15);
      assert.equal(readFileSync(path, 'utf8'), text);
    }
  });

  test('pools only what one machine in one state found', () => {
    const own = sessionRecord();
    const others = [
      sessionRecord({ kernel: '6.2.0' }),
      sessionRecord({ cpu: 'Another' }),
      sessionRecord({ clock: 'cpu' }),
      sessionRecord({ engine: 'node-llama-cpp' }),
      sessionRecord({ machineId: 'f'.repeat(64) }),
    ];
    assert.deepEqual(poolOf([own, ...others], own), [own]);
  });
});

describe('the doctor on a calibration', () => {
  const record = sessionRecord();
  const real = fingerprint();
  const machine = {
    id: record.machineId,
    system: { ...real.system, kernel: record.kernel },
    cpu: { ...real.cpu, model: record.cpu },
  };
  const finished = Date.parse(record.finishedAt);
  const day = 86_400_000;
  const good = [record, plantedRecord('fail')];

  test('names sessions, noise, margin and date when all is well', () => {
    const { status, found, remedy } = judgeCalibration(good, machine, finished + 29 * day);
    assert.equal(status, 'ok', found);
    assert.equal(remedy, null);
    assert.match(
      found,
      /^1 session by wall time, SD of a round 0\.\d\d %, smallest margin \d\.\d % by 6 rounds/,
    );
    assert.match(found, /on 2026-11-29$/);
  });

  const warnings: [string, () => ReturnType<typeof judgeCalibration>, RegExp][] = [
    ['there is none', () => judgeCalibration([], machine, finished), /none of this machine/],
    [
      'there is one of another machine',
      () => judgeCalibration(good, { ...machine, id: 'f'.repeat(64) }, finished),
      /none of this machine/,
    ],
    ['it is old', () => judgeCalibration(good, machine, finished + 32 * day), /32 days ago/],
    [
      'the kernel has changed',
      () => judgeCalibration(good, { ...machine, system: { ...machine.system, kernel: '7' } }, finished),
      /with kernel 6\.1\.0/,
    ],
    [
      'the CPU has changed',
      () => judgeCalibration(good, { ...machine, cpu: { ...machine.cpu, model: 'B' } }, finished),
      /on A CPU/,
    ],
    [
      'equal arms failed',
      () =>
        judgeCalibration([sessionRecord({ cells: [cellRecord({ verdict: 'fail' })] })], machine, finished),
      /1 of 1 equal cells failed/,
    ],
    [
      'no round had all proofs',
      () => judgeCalibration([sessionRecord({ cells: [cellRecord({ rounds: [] })] })], machine, finished),
      /no rounds with all proofs/,
    ],
    [
      'a planted slowdown was not found',
      () => judgeCalibration([record, plantedRecord('pass')], machine, finished),
      /planted slowdown of 3 % was not found/,
    ],
  ];
  for (const [when, judged, pattern] of warnings) {
    test(`warns with a remedy when ${when}`, () => {
      const { status, found, remedy } = judged();
      assert.equal(status, 'warn');
      assert.match(found, pattern);
      assert.match(remedy ?? '', /qualify calibrate/);
    });
  }
});
