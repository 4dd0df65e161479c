/** How often a run goes on: as often as one that resumes so may still verify. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { harnessVersion } from '../../../src/harness.js';
import { fingerprint } from '../../../src/machine/fingerprint.js';
import { MOST_RESUMPTIONS } from '../../../src/manifest/replay-order.js';
import { readUnfinishedRun } from '../../../src/session/unfinished-run.js';
import { rewrite } from '../../fixtures/lies.js';
import { resumeEntry } from '../../fixtures/resumed-run.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

test('a run that was resumed as often as a run may be is only concluded', async (context) => {
  const machineId = fingerprint().id;
  const harness = { version: harnessVersion, node: process.version };
  const missing: string[] = [];
  for (const times of [MOST_RESUMPTIONS - 1, MOST_RESUMPTIONS]) {
    const run = join(await scratchFolder(context), 'run');
    await writeRun(run, {
      machine: { id: machineId },
      alter: (draft) => (draft.kind === 'session' ? { ...draft, harness } : draft),
    });
    await rm(join(run, 'verdict.json'));
    // No launch of which there is evidence may be missing in the journal.
    for (const folder of ['launches', 'requests', 'responses'])
      await rm(join(run, 'evidence', folder), { recursive: true, force: true });
    await rewrite((entries) => {
      const at = entries.findIndex(({ kind }) => kind === 'launch');
      const resumptions = Array.from({ length: times }, () => resumeEntry(null, { machineId, harness }));
      return [...entries.slice(0, at), ...resumptions];
    })(run);
    missing.push((await readUnfinishedRun(run)).missing);
  }
  assert.deepEqual(missing, ['launches', 'seal']);
});
