/** A plan that its own seed and protocol do not make, or a journal of another plan, is caught, though sealed as it is. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateKey } from '../../../src/manifest/key-store.js';
import { replayPlan } from '../../../src/manifest/replay-plan.js';
import { seal } from '../../../src/manifest/seal.js';
import { planDigest } from '../../../src/plan/build.js';
import { buildPrompts } from '../../../src/plan/prompts.js';
import { planSchema } from '../../../src/plan/schema.js';
import { edit, first, refuses } from '../../fixtures/lies.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

test('a look that went on with other cells', (context) =>
  refuses(context, 'journal.jsonl', /goes on with 32\/32 .* by the rule it is no cell/, {
    rounds: 6,
    alter: (draft) => (draft.kind === 'look' ? { ...draft, undecided: ['32/32'] } : draft),
  }));

test('launches in another order than the plan', (context) =>
  refuses(context, 'journal.jsonl', /line \d+ launches base at place \d of round 0, which is not next/, {
    alter: (draft) => (draft.kind === 'launch' ? { ...draft, arm: 'base' } : draft),
  }));

test('a plan that was changed after the session began', (context) =>
  refuses(context, 'plan.json', /began with that of another plan/, {
    change: edit('plan.json', /"marginPercent": 2/, '"marginPercent": 20'),
  }));

test('a short plan of very many tokens is refused before any is drawn', async (context) => {
  const { plan, entries } = await writeRun(await scratchFolder(context), {
    alterPlan: ({ protocol, cells }) => {
      protocol.samples = 400;
      for (const cell of cells) cell.promptTokens = 65_536;
    },
  });
  const began = process.cpuUsage();
  assert.throws(
    () => replayPlan(plan, entries),
    /prompts that its seed does not make: 32\/32#control differs/,
  );
  const { user, system } = process.cpuUsage(began);
  // To draw them takes twenty times as much.
  assert.ok(user + system < 1_500_000, `${user + system} µs`);
});

test('prompts that the seed does not make', (context) =>
  refuses(context, 'plan.json', /prompts that its seed does not make: 32\/32#sample-0 differs/, {
    alterPlan: ({ prompts }) => {
      const [control, warmup, sample, ...rest] = prompts;
      if (control && warmup && sample) prompts.splice(0, prompts.length, control, sample, warmup, ...rest);
    },
  }));

test('a prompt of other tokens than the seed draws', (context) =>
  refuses(context, 'plan.json', /prompts that its seed does not make: 32\/32#sample-0 differs/, {
    change: async (run) => {
      const plan = planSchema.parse(JSON.parse(await readFile(join(run, 'plan.json'), 'utf8')));
      const before = planDigest(plan);
      const sample = plan.prompts.find(({ kind }) => kind === 'sample');
      if (sample) sample.sha256 = 'a'.repeat(64);
      await writeFile(join(run, 'plan.json'), `${JSON.stringify(plan, null, 2)}\n`);
      for (const file of ['journal.jsonl', 'verdict.json']) await edit(file, before, planDigest(plan))(run);
    },
  }));

test('an order of launches that the seed does not make', (context) =>
  refuses(context, 'plan.json', /order of launches that its seed does not make/, {
    alterPlan: ({ rounds }) => {
      for (const round of rounds) round.order.reverse();
    },
  }));

test('a level that the protocol does not make', (context) =>
  refuses(
    context,
    'plan.json',
    /does not follow from its own protocol and budgets: decision\.levelPerLook is 0\.4/,
    {
      alterPlan: ({ decision }) => {
        decision.levelPerLook = 0.4;
      },
    },
  ));

test('a margin that is not the budget', (context) =>
  refuses(context, 'plan.json', /protocol and budgets: cells\[0\]\.marginPercent is 20, not 2/, {
    alterPlan: ({ cells }) => {
      for (const cell of cells) cell.marginPercent = 20;
    },
  }));

test('an interval that the protocol does not name', (context) =>
  refuses(context, 'plan.json', /protocol and budgets: decision\.interval is "walsh", not "t"/, {
    alterPlan: ({ decision }) => {
      decision.interval = 'walsh';
    },
  }));

test('a vocabulary that the model does not have', (context) =>
  refuses(context, 'plan.json', /does not make|protocol and budgets: vocabulary/, {
    alterPlan: (plan) => {
      plan.vocabulary = 7;
      plan.prompts = buildPrompts(plan, plan.cells, plan.protocol);
    },
  }));

test('looks that no matrix may have', (context) =>
  refuses(context, 'plan.json', /is of no matrix: looks must rise/, {
    alterPlan: ({ protocol, decision }) => {
      protocol.looks = [1, 1];
      decision.looks = [1, 1];
    },
  }));

test('a plan of another session', (context) =>
  refuses(context, 'journal.jsonl', /is of session another-1, not fixture-1/, {
    alter: first('session', (draft) => {
      draft.session = 'another-1';
    }),
  }));

test('a machine that is not the one of the journal: such a folder is not even sealed', async (context) => {
  const folder = await scratchFolder(context);
  const key = await generateKey('signer', join(folder, 'signer'));
  const alter = first('session', (draft) => {
    draft.machineId = 'a'.repeat(64);
  });
  await writeRun(join(folder, 'run'), { alter });
  await assert.rejects(seal(join(folder, 'run'), key), { where: 'evidence/machine.json' });
});
