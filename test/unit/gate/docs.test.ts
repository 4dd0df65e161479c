/** docs/gate.md has every key of the policy, and every result with its exit code; its codes are in `validity.test.ts`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { gateResults } from '../../../src/gate/decision.js';
import { gatePolicySchema, machineClassSchema, requirementSchema } from '../../../src/gate/policy.js';
import { harnessFolder } from '../../../src/harness.js';

const text = readFileSync(join(harnessFolder, 'docs', 'gate.md'), 'utf8');
test('docs/gate.md shows a policy that parses, with every key', () => {
  const yaml = /```yaml\n(.*?)```/s.exec(text)?.[1] ?? '';
  const shown = parse(yaml) as { machines: Record<string, { ids: string[] }> };
  shown.machines = { lab: { ids: ['a'.repeat(64)] } };
  assert.equal(gatePolicySchema.parse(shown).require.length, 1);
  for (const shape of [gatePolicySchema, machineClassSchema, requirementSchema])
    for (const key of Object.keys(shape.shape)) assert.match(yaml, new RegExp(`\\b${key}\\b`), key);
});

test('docs/gate.md has every result with its exit code', () => {
  const rows = [...text.matchAll(/^\| `([a-z]+)` \| ([\d to]+) \|/gm)].map(([, result, code]) => [
    result,
    code,
  ]);
  assert.deepEqual(Object.fromEntries(rows), {
    ...{
      pass: '0',
      waived: '0',
      inconclusive: '11',
      fail: '10',
      missing: '12',
      refused: '12 to 15',
      invalid: '16',
    },
  });
  assert.deepEqual(
    rows.map(([result]) => result),
    [...gateResults],
  );
});
