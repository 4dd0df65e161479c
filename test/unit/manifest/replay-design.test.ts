/** An ablation that lies: about its design, which is fixed before the first launch, or about what follows from it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import type { Plan } from '../../../src/plan/schema.js';
import { edit, refuses } from '../../fixtures/lies.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

const factor = { switch: 'DFLASH_MOE_GROUPED_MMID_PREFILL', low: '0', high: '1' };

/** The two arms of the fixture are a design of one switch. */
function ablate(plan: Plan): void {
  plan.design = {
    kind: 'one-at-a-time',
    factors: [factor],
    rows: [
      { arm: 'base', levels: '-' },
      { arm: 'head', levels: '+' },
    ],
  };
}

test('an ablation that tells the truth verifies, and its statement says what it is', async (context) => {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  await writeRun(run, { alterPlan: ablate, rounds: 2 });
  await seal(run, await generateKey('signer', join(folder, 'signer')));
  const { statement } = await verifyRun(run, { keyFolder: join(folder, 'keys') });
  assert.equal(statement.predicate.result, 'pass');
  assert.deepEqual(statement.predicate.design?.factors, [factor]);
  assert.match(await readFile(join(run, 'report.md'), 'utf8'), /no budget judged/);
});

test('an effect that the rounds do not have', (context) =>
  refuses(context, 'verdict.json', /ablation\.cells\[0\]\.switches\[0\]\.effect\.percent is 99/, {
    alterPlan: ablate,
    rounds: 2,
    change: edit('verdict.json', /("switches": \[[^\]]*?"percent": )-?[0-9.]+/, '$199'),
  }));

test('an ablation without its ablation', (context) =>
  refuses(context, 'verdict.json', /ablation/, {
    alterPlan: ablate,
    rounds: 2,
    change: edit('verdict.json', /"ablation": \{[\s\S]*?\n {2}\},\n {2}"cells"/, '"cells"'),
  }));

for (const [what, change] of [
  ['levels that its arms do not have', { low: '2' }],
  ['a switch that its arms do not set', { switch: 'ANOTHER' }],
] as const)
  test(`a design with ${what}`, (context) =>
    refuses(context, 'plan.json', /is of no matrix/, {
      rounds: 2,
      alterPlan: (plan) => {
        ablate(plan);
        if (plan.design !== undefined) plan.design.factors = [{ ...factor, ...change }];
      },
    }));

test('a design with the reference in another place', (context) =>
  refuses(context, 'plan.json', /is of no matrix/, {
    rounds: 2,
    alterPlan: (plan) => {
      ablate(plan);
      plan.design?.rows.reverse();
    },
  }));

test('a statement that passes an ablation off as a qualification', (context) =>
  refuses(context, /^qualification\.intoto\.jsonl$/, /design/, {
    alterPlan: ablate,
    rounds: 2,
    state: ({ predicate }) => {
      delete predicate.design;
    },
  }));
