/** Lies about the controls of a session: left out, put elsewhere, chosen, or asked in another order. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import type { Entry } from '../../../src/journal/entries.js';
import { buildStatement } from '../../../src/manifest/build-statement.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { planDigest } from '../../../src/plan/build.js';
import { judge } from '../../../src/verdict/judge.js';
import { edit, refuses } from '../../fixtures/lies.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

test('an honest run with a null arm verifies, and the null arm is no subject', async (context) => {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  const revisions = { base: 'b'.repeat(40), head: 'c'.repeat(40) };
  const { plan } = await writeRun(run, { nullRounds: 2, rounds: 2, revisions });
  assert.equal(plan.arms.at(-1)?.control, 'null');
  await seal(run, await generateKey('signer', join(folder, 'signer')));
  const { statement } = await verifyRun(run, { keyFolder: join(folder, 'keys') });
  const names = statement.subject.map(({ name }) => name);
  assert.deepEqual(names, ['evidence.sha256', `head@${revisions.head}`, 'head/engine']);
  assert.equal(statement.predicate.arms.at(-1)?.control, 'null');
});

test('a second binary of the reference, as the null arm may be, is no subject either', async (context) => {
  const run = join(await scratchFolder(context), 'run');
  const revisions = { base: 'b'.repeat(40), head: 'c'.repeat(40) };
  const { plan, entries } = await writeRun(run, { nullRounds: 2, rounds: 2, revisions });
  const rebuilt = entries.flatMap((entry): Entry[] => {
    if (entry.kind !== 'build' || !entry.arms.includes('null')) return [entry];
    const own = { ...entry, arms: entry.arms.filter((arm) => arm !== 'null') };
    return [own, { ...entry, arms: ['null'], binarySha256: 'e'.repeat(64) }];
  });
  assert.equal(rebuilt.length, entries.length + 1);
  const { subject } = buildStatement({
    plan,
    planDigest: planDigest(plan),
    entries: rebuilt,
    verdict: judge(plan, analyse(plan, rebuilt)),
    machine: JSON.parse(await readFile(join(run, 'evidence/machine.json'), 'utf8')),
    evidence: { sha256: 'f'.repeat(64), files: 1, bytes: 1 },
    signer: `SHA256:${'A'.repeat(43)}`,
  });
  assert.deepEqual(
    subject.map(({ name }) => name),
    ['evidence.sha256', `head@${revisions.head}`, 'head/engine'],
  );
});

test('a plan without the null arm that its protocol asks for', (context) =>
  refuses(context, 'plan.json', /has an order of launches that its seed does not make/, {
    nullRounds: 2,
    rounds: 2,
    alterPlan: (plan) => {
      plan.arms.pop();
      plan.rounds = plan.rounds.map(({ round, order }) => ({
        round,
        order: order.filter((arm) => arm !== 'null'),
      }));
    },
  }));

test('a null arm that is not the reference', (context) =>
  refuses(context, 'plan.json', /does not follow from its own protocol and budgets: arms\[2\]/, {
    nullRounds: 2,
    rounds: 2,
    alterPlan: ({ arms }) => {
      const [, head, none] = arms;
      assert.ok(head && none);
      none.switches = head.switches;
    },
  }));

test('a null arm at another place in its round', (context) =>
  refuses(context, 'plan.json', /has an order of launches that its seed does not make/, {
    nullRounds: 2,
    rounds: 2,
    alterPlan: ({ rounds }) => {
      for (const round of rounds) round.order = ['base', 'head', 'null'];
    },
  }));

test('a null round fewer than planned', (context) =>
  refuses(context, 'plan.json', /has an order of launches that its seed does not make/, {
    nullRounds: 2,
    rounds: 2,
    alterPlan: ({ rounds }) => {
      const last = rounds.at(-1);
      assert.ok(last);
      last.order = last.order.filter((arm) => arm !== 'null');
    },
  }));

test('a cap that is no look', (context) =>
  refuses(context, 'plan.json', /is of no matrix: a cell stops after a look/, {
    alterPlan: ({ cells: [cell] }) => {
      assert.ok(cell);
      cell.cap = 5;
    },
  }));

test('samples in another order than planned', (context) =>
  refuses(
    context,
    'journal.jsonl',
    /asks 32\/32#sample-0 after 32\/32#sample-1; planned is 32\/32#sample-0 32/,
    {
      change: async (run) => {
        const lines = (await readFile(join(run, 'journal.jsonl'), 'utf8')).trimEnd().split('\n');
        const at = lines.findIndex((line) => line.includes('"purpose":"sample"'));
        const [first = '', second = ''] = lines.slice(at, at + 2);
        const renumbered = (line: string, as: string): string => {
          const { seq, atNs } = JSON.parse(as);
          return JSON.stringify({ ...JSON.parse(line), seq, atNs });
        };
        const swapped = `${renumbered(second, first)}\n${renumbered(first, second)}`;
        await edit('journal.jsonl', `${first}\n${second}`, swapped)(run);
      },
    },
  ));

test('controls that read otherwise than the journal', (context) =>
  refuses(context, 'verdict.json', /does not follow from plan and journal: controls\[0\]\.status is/, {
    nullRounds: 2,
    rounds: 2,
    change: edit('verdict.json', '"status": "ok"', '"status": "not-taken"'),
  }));
