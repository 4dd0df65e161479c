import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkLoad, checkSwap, examine } from '../../../src/machine/doctor.js';
import { fingerprint, fingerprintSchema } from '../../../src/machine/fingerprint.js';

describe('doctor', () => {
  test('gives a remedy with every finding that needs one, and with no other', async () => {
    const findings = await examine();
    for (const { check, status, remedy } of findings) {
      assert.equal(remedy !== null, status === 'warn' || status === 'bad', check);
    }
    const checks = findings.map(({ check }) => check);
    const wanted = [
      'git',
      'cmake',
      'compiler',
      'generator',
      'cpu',
      'governor',
      'load',
      'swap',
      'machine',
      'memory',
      'disk',
      'gpus',
      'calibration',
    ];
    assert.deepEqual(checks, ['node', ...wanted]);
  });

  test('names the package of a tool that is missing', async (t) => {
    const path = process.env.PATH;
    t.after(() => {
      process.env.PATH = path;
    });
    process.env.PATH = '/nowhere';
    const bad = (await examine()).filter(({ status }) => status === 'bad');
    assert.deepEqual(
      bad.map(({ check }) => check),
      ['git', 'cmake', 'compiler', 'generator'],
    );
    assert.match(bad[1]?.remedy ?? '', /apt-get install cmake/);
  });

  test('minds load by the number of CPUs, and swap in use', () => {
    assert.equal(checkLoad(0.4, 2).status, 'ok');
    assert.equal(checkLoad(0.6, 2).status, 'warn');
    assert.equal(checkSwap(0n).status, 'ok');
    assert.equal(checkSwap(500_000_000n).status, 'warn');
  });
});

describe('fingerprint', () => {
  test('fits its schema and is the same every time', () => {
    const machine = fingerprintSchema.parse(fingerprint());
    assert.deepEqual(fingerprint(), machine);
  });
});

test('says the id that a policy names a machine by', async () => {
  const findings = await examine();
  const [found] = findings.filter(({ check }) => check === 'machine');
  assert.equal(found?.found, fingerprint().id);
});
