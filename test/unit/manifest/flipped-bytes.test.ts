/** No byte of a run folder can change unnoticed. */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { seal } from '../../../src/manifest/seal.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

async function sealedRun(context: TestContext): Promise<{ run: string; keys: string; key: string }> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  await writeRun(run);
  await seal(run, await generateKey('signer', join(folder, 'signer')));
  return { run, keys: join(folder, 'keys'), key: join(folder, 'signer', 'signer.pub') };
}

/** Changes one byte and asserts that verification names a file of the run and exits 16; puts the byte back. */
async function assertNoticed(
  run: string,
  path: string,
  offset: number,
  mask: number,
  options: object,
): Promise<void> {
  const file = join(run, path);
  const bytes = await readFile(file);
  const changed = Buffer.from(bytes);
  changed[offset] = (changed[offset] ?? 0) ^ mask;
  await writeFile(file, changed);
  const what = `${path} byte ${offset} ^ ${mask}`;
  await assert.rejects(
    verifyRun(run, options),
    (error) => error instanceof QualifyError && error.exitCode === 16 && error.where !== undefined,
    what,
  );
  await writeFile(file, bytes);
}

test('notices a changed byte in every file', async (context) => {
  const { run, keys } = await sealedRun(context);
  const files = (await readdir(run, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  assert.ok(files.length > 20);
  for (const file of files) {
    const path = join(file.parentPath, file.name).slice(run.length + 1);
    const { length } = await readFile(join(run, path));
    for (const offset of new Set([0, randomInt(length), length - 1])) {
      await assertNoticed(run, path, offset, randomInt(1, 256), { keyFolder: keys });
    }
  }
  await verifyRun(run, { keyFolder: keys });
});

const SIGNED = [
  'qualification.intoto.jsonl',
  'qualification.intoto.jsonl.sig',
  'qualification.sigstore.json',
  'key.pub.pem',
  'evidence.sha256',
];

for (const path of SIGNED) {
  test(`notices each changed bit of ${path}, with and without --key`, async (context) => {
    const { run, keys, key } = await sealedRun(context);
    const { length } = await readFile(join(run, path));
    const step = Math.max(1, Math.floor(length / 120));
    for (let offset = randomInt(step); offset < length; offset += step) {
      const mask = 1 << randomInt(8);
      await assertNoticed(run, path, offset, mask, { keyFolder: keys });
      await assertNoticed(run, path, offset, mask, { keyFolder: keys, key });
    }
    await verifyRun(run, { keyFolder: keys, key });
  });
}

test('notices bytes that are cut off or added', async (context) => {
  const { run, keys } = await sealedRun(context);
  for (const path of [...SIGNED, 'plan.json', 'journal.jsonl']) {
    const bytes = await readFile(join(run, path));
    for (const changed of [
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.from('\n')]),
      randomBytes(8),
      Buffer.alloc(0),
    ]) {
      await writeFile(join(run, path), changed);
      await assert.rejects(verifyRun(run, { keyFolder: keys }), { exit: 'invalid' }, path);
    }
    await writeFile(join(run, path), bytes);
  }
});
