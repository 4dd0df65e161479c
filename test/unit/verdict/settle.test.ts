/** What the session asked after each look follows again from the whole journal. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import type { Entry } from '../../../src/journal/entries.js';
import type { Plan } from '../../../src/plan/schema.js';
import { Stream } from '../../../src/plan/stream.js';
import { undecidedAfter, undecidedCells } from '../../../src/verdict/settle.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

/** For each look, what followed from the journal as it was then, and what follows from the whole. */
function looksOf(plan: Plan, entries: readonly Entry[]): { before: string[]; now: string[] }[] {
  const analysis = analyse(plan, entries);
  return entries.flatMap((entry, at) =>
    entry.kind === 'look'
      ? [
          {
            before: undecidedCells(plan, entries.slice(0, at)),
            now: undecidedAfter(plan, analysis, entry.rounds),
          },
        ]
      : [],
  );
}

test('the cells that a look left undecided follow from the journal that went on', async (context) => {
  const folder = await scratchFolder(context);
  const decided = new Set<string>();
  for (const seed of ['a', 'b']) {
    const noise = new Stream(seed, 'noise');
    const { plan, entries } = await writeRun(join(folder, seed), {
      cells: [32, 40, 48],
      protocol: { looks: [6, 8, 10] },
      headShare: () => 0.9 + noise.below(201) / 1000,
    });
    for (const [at, { before, now }] of looksOf(plan, entries).entries()) {
      assert.deepEqual(now, before, `${seed}, look ${at}`);
      decided.add(`${at}: ${now.length}`);
    }
  }
  assert.ok(decided.size > 2, `the looks differ: ${[...decided].join(', ')}`);
});

test('they would not, if a build could be written down after the look', async (context) => {
  const folder = await scratchFolder(context);
  const noise = new Stream('late', 'noise');
  const { plan, entries } = await writeRun(join(folder, 'run'), {
    protocol: { looks: [6, 8] },
    headShare: () => 0.5 + noise.below(1001) / 1000,
  });
  const build = entries.filter(({ kind }) => kind === 'build');
  const late = [...entries.filter(({ kind }) => kind !== 'build'), ...build];
  assert.ok(looksOf(plan, late).some(({ before, now }) => before.join() !== now.join()));
});
