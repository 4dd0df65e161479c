/** Which arms of a matrix the oracle launches, how, and which it leaves out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Matrix } from '../../../src/matrix/schema.js';
import { NO_FAULT, plantedFaults } from '../../../src/plan/planted-faults.js';
import { oracleLaunches } from '../../../src/session/oracle-launches.js';
import { makePlan } from '../../fixtures/journal.js';

const launchesOf = (parity: 'bounded' | 'exact', arms: object) => {
  const { arms: planned, protocol } = makePlan({ arms: arms as Matrix['arms'] });
  return oracleLaunches({ arms: planned, protocol: { ...protocol, parity } });
};

const SWITCH = 'DFLASH_A';

test('the reference is launched with each fault, and at level bounded the arms that differ by switches and arguments', () => {
  const arms = {
    base: { switches: { [SWITCH]: '0' }, arguments: ['--cache-slots', '2'] },
    head: { switches: { [SWITCH]: '1' }, arguments: ['--cache-slots', '3'] },
    peer: { engine: 'node-llama-cpp' },
  };
  const reference = { arm: null, switches: { [SWITCH]: '0' }, arguments: ['--cache-slots', '2'] };
  const spoilt = [NO_FAULT, ...plantedFaults].map((fault) => ({ ...reference, fault }));
  const head = { arm: 'head', fault: NO_FAULT, ...arms.head };
  assert.deepEqual(launchesOf('bounded', arms), { launches: [...spoilt, head], notRun: [] });
  assert.deepEqual(launchesOf('exact', arms), { launches: spoilt, notRun: [] });
});

test('an arm of another revision is not launched from a build that is not its own, and is named', () => {
  const arms = {
    base: { revision: 'one' },
    head: { revision: 'two' },
    same: { revision: 'one', switches: { [SWITCH]: '1' } },
  };
  const { launches, notRun } = launchesOf('bounded', arms);
  assert.deepEqual(notRun, ['head']);
  assert.deepEqual(
    launches.flatMap(({ arm }) => arm ?? []),
    ['same'],
  );
  assert.deepEqual(launchesOf('exact', arms).notRun, []);
});
