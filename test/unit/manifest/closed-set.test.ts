import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import workerThreads from 'node:worker_threads';
import { checkInThread, closedSet } from '../../../src/manifest/closed-set.js';
import {
  checkClosedSet,
  type EvidenceIndex,
  writeEvidenceIndex,
} from '../../../src/manifest/evidence-index.js';
import { scratchFolder } from '../../support/folder.js';

/** Longer than what is read at once, and so not kept. */
const LONG_BYTES = 300_000;

interface Folder {
  folder: string;
  index: EvidenceIndex;
  indexBytes: Buffer;
}

/** A folder with its index; `padding` makes the index longer than that of so few files is. */
async function makeFolder(context: TestContext, files: number, padding = ''): Promise<Folder> {
  const folder = await scratchFolder(context);
  for (const kind of ['requests', 'responses'])
    mkdirSync(join(folder, 'evidence', kind), { recursive: true });
  writeFileSync(join(folder, 'plan.json'), '{}');
  writeFileSync(join(folder, 'journal.jsonl'), 'x'.repeat(LONG_BYTES));
  for (let at = 0; at < files; at += 1) {
    writeFileSync(join(folder, 'evidence', 'requests', `${at}${padding}`), `request ${at}`);
    writeFileSync(join(folder, 'evidence', 'responses', `${at}${padding}`), `response ${at}`);
  }
  const index = await writeEvidenceIndex(folder);
  return { folder, index, indexBytes: readFileSync(join(folder, 'evidence.sha256')) };
}

test('a thread finds what the check finds: the sum of bytes, and those that are parsed later', async (context) => {
  const { folder, index, indexBytes } = await makeFolder(context, 20);
  const kept = new Map<string, Buffer>();
  const bytes = await checkClosedSet(folder, index, kept);
  assert.deepEqual(await checkInThread(folder, indexBytes, index), { files: 42, bytes, kept });
  assert.equal(kept.get('evidence/responses/7')?.toString(), 'response 7');
  // Requests are known by their digests, and what is long is read once more when it is needed.
  assert.deepEqual(
    [...kept.keys()].filter((path) => /requests|journal/.test(path)),
    [],
  );
});

const CHANGES: Readonly<Record<string, [change: (folder: string) => void, told: RegExp]>> = {
  'a changed response': [
    (folder) => writeFileSync(join(folder, 'evidence/responses/3'), 'another'),
    /^evidence\/responses\/3 has changed: its SHA-256 is/,
  ],
  'a changed request': [
    (folder) => writeFileSync(join(folder, 'evidence/requests/3'), 'another'),
    /^evidence\/requests\/3 has changed: its SHA-256 is/,
  ],
  'a changed long file': [
    (folder) => writeFileSync(join(folder, 'journal.jsonl'), 'y'.repeat(LONG_BYTES)),
    /^journal\.jsonl has changed/,
  ],
  'a missing file': [
    (folder) => rmSync(join(folder, 'evidence/requests/3')),
    /^evidence\/requests\/3 is missing; evidence\.sha256 lists it/,
  ],
  'an added file': [
    (folder) => writeFileSync(join(folder, 'evidence/more'), ''),
    /^evidence\/more is not listed/,
  ],
  'a link in the place of a file': [
    (folder) => {
      rmSync(join(folder, 'plan.json'));
      symlinkSync('journal.jsonl', join(folder, 'plan.json'));
    },
    /^plan\.json is not a plain file/,
  ],
};

for (const [what, [change, told]] of Object.entries(CHANGES)) {
  test(`a thread does not pass ${what}, and the reason is told all the same`, async (context) => {
    const { folder, index, indexBytes } = await makeFolder(context, 5);
    assert.notEqual(await checkInThread(folder, indexBytes, index), null);
    change(folder);
    assert.equal(await checkInThread(folder, indexBytes, index), null);
    await assert.rejects(closedSet(folder, indexBytes, index), { exit: 'invalid', message: told });
  });
}

test('a long index is checked like a short one', async (context) => {
  const { folder, index, indexBytes } = await makeFolder(context, 900, 'x'.repeat(180));
  assert.ok(indexBytes.length > 400_000);
  const kept = new Map<string, Buffer>();
  const bytes = await checkClosedSet(folder, index, kept);
  assert.deepEqual(await closedSet(folder, indexBytes, index), { files: index.size, bytes, kept });
  const changed = join(folder, 'evidence', 'responses', `899${'x'.repeat(180)}`);
  writeFileSync(changed, 'another');
  await assert.rejects(closedSet(folder, indexBytes, index), {
    exit: 'invalid',
    message: /^evidence\/responses\/899x+ has changed: its SHA-256 is/,
  });
});

test('where a thread ends without an answer, the check is made without', async (context) => {
  const { folder, index } = await makeFolder(context, 5);
  // What is no index ends the thread as anything does that goes wrong in it.
  assert.equal(await checkInThread(folder, Buffer.from('no index\n'), index), null);
  const found = await closedSet(folder, Buffer.alloc(400_001, 'no index\n'), index);
  assert.equal(found.bytes, await checkClosedSet(folder, index));
});

test('where a thread cannot begin, the check is made without', async (context) => {
  const { folder, index } = await makeFolder(context, 5);
  const { Worker } = workerThreads;
  context.after(() => {
    workerThreads.Worker = Worker;
    syncBuiltinESMExports();
  });
  let begun = 0;
  // As Node does where the system has no thread left.
  workerThreads.Worker = class {
    constructor() {
      begun += 1;
      throw Object.assign(new Error('no thread'), { code: 'ERR_WORKER_INIT_FAILED' });
    }
  } as unknown as typeof Worker;
  syncBuiltinESMExports();
  assert.equal(await checkInThread(folder, readFileSync(join(folder, 'evidence.sha256')), index), null);
  assert.equal(begun, 1);
  const found = await closedSet(folder, Buffer.alloc(400_001), index);
  assert.equal(found.bytes, await checkClosedSet(folder, index));
});
