/** Where the summary of a verification may be written. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type AttestOptions, attest } from '../../../src/manifest/attest.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

async function verified(t: TestContext): Promise<{ folder: string; options: AttestOptions }> {
  const folder = await scratchFolder(t);
  const runFolder = join(folder, 'run');
  const keys = join(folder, 'keys');
  await writeRun(runFolder);
  await seal(runFolder, await generateKey('signer', keys));
  const verification = await verifyRun(runFolder, { keyFolder: keys });
  const policy = { path: 'trust.json', bytes: Buffer.from('{}') };
  const key = await generateKey('verifier', keys);
  return {
    folder,
    options: { path: join(folder, 'run.vsa.jsonl'), runFolder, verification, policy, key, at: new Date() },
  };
}

test('a summary is not written into the run, which is closed, whatever its name begins with', async (t) => {
  const { folder, options } = await verified(t);
  for (const name of ['..vsa.jsonl', 'vsa.jsonl', join('evidence', 'vsa.jsonl')]) {
    const error = await refusal(attest({ ...options, path: join(options.runFolder, name) }));
    assert.deepEqual([error.code, error.exit], ['ERR_QUALIFY_USAGE', 'usage'], name);
  }
  await verifyRun(options.runFolder, { keyFolder: join(folder, 'keys') });
  await attest(options);
  assert.ok(readFileSync(options.path, 'utf8').endsWith('\n'));
  await attest({ ...options, path: join(folder, '..vsa.jsonl') });
});

test('a file that appears while the summary is signed stays as it is', async (t) => {
  const { folder, options } = await verified(t);
  const { key, path } = options;
  const slow = {
    ...key,
    sign: async (message: Uint8Array) => {
      await writeFile(path, 'theirs');
      return key.sign(message);
    },
  };
  assert.equal((await refusal(attest({ ...options, key: slow }))).code, 'ERR_QUALIFY_EXISTS');
  assert.equal(readFileSync(path, 'utf8'), 'theirs');
  assert.deepEqual(readdirSync(folder).sort(), ['keys', 'run', 'run.vsa.jsonl']);
});
