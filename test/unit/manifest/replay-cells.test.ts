/** Of two cells, one is settled at the first look: what the launches after it ask is the other one, and no more. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { refuses } from '../../fixtures/lies.js';
import { type RunOptions, writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

/** Head takes half of 32 tokens, and of 64 now less, now more. */
const oneWavers: RunOptions = {
  cells: [32, 64],
  protocol: { looks: [6, 8] },
  headShare: (promptTokens, round) => (promptTokens === 32 ? 0.5 : round % 2 === 0 ? 0.8 : 1.2),
};

/** Writes, seals and verifies the run; answers what it says of each cell. */
async function verified(context: TestContext, options: RunOptions) {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  await writeRun(run, options);
  await seal(run, await generateKey('signer', join(folder, 'signer')));
  const { record } = await verifyRun(run, { keyFolder: join(folder, 'keys') });
  return record.verdict.cells.map(({ id, verdict, comparisons: [only] }) => {
    const codes = only?.reasons.map(({ code }) => code);
    return { id, verdict, rounds: only?.effect?.rounds ?? null, codes };
  });
}

test('stands as the session writes it', async (context) => {
  assert.deepEqual(await verified(context, oneWavers), [
    { id: '32/32', verdict: 'pass', rounds: 6, codes: [] },
    { id: '64/32', verdict: 'inconclusive', rounds: 8, codes: ['undecided'] },
  ]);
});

test('is refused where the settled cell is asked once more', (context) =>
  refuses(context, 'journal.jsonl', /line \d+ asks 32\/32#warmup-0, of a cell that was settled/, {
    ...oneWavers,
    asks: (_open, all) => all,
  }));

test('gives no verdict on an open cell that is left out', async (context) => {
  const asks: RunOptions['asks'] = (open, all) => (open.length === all.length ? all : []);
  assert.deepEqual(await verified(context, { ...oneWavers, asks }), [
    { id: '32/32', verdict: 'pass', rounds: 6, codes: [] },
    { id: '64/32', verdict: 'not-measured', rounds: null, codes: ['samples-missing'] },
  ]);
});
