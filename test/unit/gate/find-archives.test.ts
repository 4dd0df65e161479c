/** A gate takes runs as archives too, and takes no archive for a run that does not hold. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findRuns } from '../../../src/gate/find-runs.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { packRun } from '../../../src/manifest/pack.js';
import { seal } from '../../../src/manifest/seal.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

test('an archive is found beside folders, and is the same run', async (t) => {
  const folder = await scratchFolder(t);
  const runs = join(folder, 'runs');
  await mkdir(join(runs, 'packed'), { recursive: true });
  await writeRun(join(runs, 'a'));
  await seal(join(runs, 'a'), await generateKey('signer', join(folder, 'keys')));
  const { path } = await packRun(join(runs, 'a'), { out: join(runs, 'packed', 'a.tar') });
  await writeFile(join(runs, 'packed', 'b.tar'), 'no archive');
  const found = await findRuns(runs);
  assert.deepEqual(
    found.map((one) => one.path),
    [join(runs, 'a'), path, join(runs, 'packed', 'b.tar')],
  );
  const [asFolder, asArchive, none] = found;
  assert.ok(asFolder?.run && asArchive?.run);
  assert.equal(asArchive.run.digest, asFolder.run.digest);
  assert.equal(none?.run, null);
  assert.equal(none?.failure?.code, 'not-verified');
});
