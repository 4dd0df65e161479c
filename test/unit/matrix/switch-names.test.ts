/** Misspelt switches are named, and the list of switches is the engine's own. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { harnessFolder } from '../../../src/harness.js';
import { ablationMatrix } from '../../../src/matrix/ablate.js';
import { loadMatrix } from '../../../src/matrix/load.js';
import type { Design } from '../../../src/matrix/schema.js';
import { knownSwitches, switchWarnings } from '../../../src/matrix/switch-names.js';
import { makePlan, SWITCH } from '../../fixtures/journal.js';

const warningsOf = (switches: Record<string, string>): string[] => {
  const { arms } = makePlan({ arms: { base: {}, head: { switches } } });
  return switchWarnings(Object.fromEntries(arms.map((arm) => [arm.name, arm])));
};

test('the list of switches is that of native/engine/switches.cpp', () => {
  const source = readFileSync(join(harnessFolder, 'native', 'engine', 'switches.cpp'), 'utf8');
  assert.deepEqual(
    knownSwitches,
    [...source.matchAll(/^ *\{"([A-Z0-9_]+)",/gm)].map(([, name]) => name),
  );
});

test('a switch that the engine lacks is named with the nearest that it has, and no other is', () => {
  assert.deepEqual(warningsOf({ [SWITCH]: '0', FAKE_FAULT: 'x' }), []);
  assert.deepEqual(warningsOf({ DFLASH_MOE_GROUPED_MMID_PREFIL: '0' }), [
    `arm head: this engine has no switch DFLASH_MOE_GROUPED_MMID_PREFIL: did you mean ${SWITCH}?`,
  ]);
  assert.deepEqual(warningsOf({ DFLSH_MOE_OWNERS: '2' }), [
    'arm head: this engine has no switch DFLSH_MOE_OWNERS: did you mean DFLASH_MOE_OWNERS?',
  ]);
  assert.deepEqual(warningsOf({ GGML_CUDA_Z: '1' }), ['arm head: this engine has no switch GGML_CUDA_Z']);
});

test('a switch that a design varies is named whatever it is called', () => {
  const { matrix } = loadMatrix('switches');
  const designed = (kind: Design['kind']): string[] => {
    const factors = [
      { switch: SWITCH, low: '0', high: '1' },
      { switch: 'FOO', low: '0', high: '1' },
    ];
    const { arms, design } = ablationMatrix(matrix, { kind, from: 'off', factors, rounds: 2 });
    return switchWarnings(arms, design);
  };
  for (const kind of ['one-at-a-time', 'folded-plackett-burman'] as const)
    assert.deepEqual(designed(kind), [
      'arm all-off: this engine has no switch FOO (unless the revision brings it, nothing is varied)',
    ]);
});

test('a lever is named whatever it is called, and a switch of many arms once', () => {
  const lever = { revision: 'b', switches: { FOO: '0' }, control: 'lever-off' } as const;
  const { arms } = makePlan({ arms: { base: {}, head: { revision: 'b' }, 'lever-off': lever } });
  assert.deepEqual(switchWarnings(Object.fromEntries(arms.map((arm) => [arm.name, arm]))), [
    'arm lever-off: this engine has no switch FOO (unless the change brings it, this arm proves nothing)',
  ]);
  const many = makePlan({
    arms: { base: { switches: { DFLASH_Q: '0' } }, head: { switches: { DFLASH_Q: '1' } } },
  });
  assert.deepEqual(switchWarnings(Object.fromEntries(many.arms.map((arm) => [arm.name, arm]))), [
    'arm base: this engine has no switch DFLASH_Q',
  ]);
});
