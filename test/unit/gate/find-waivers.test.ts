/** A waiver that the system does not let the gate read is told, and ends nothing. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findWaivers } from '../../../src/gate/find-waivers.js';
import { PAYLOAD_TYPE } from '../../../src/manifest/envelope.js';
import { trustPolicySchema } from '../../../src/manifest/trust-policy.js';
import { scratchFolder } from '../../support/folder.js';

/** Does `work` as somebody whom modes of files bind: root is not bound by them. */
async function asNobody<T>(work: () => Promise<T>): Promise<T> {
  const { getuid, seteuid } = process;
  if (getuid?.() !== 0 || seteuid === undefined) return work();
  seteuid(65_534);
  try {
    return await work();
  } finally {
    seteuid(0);
  }
}

test('a waiver, and a folder of them, that may not be read', async (t) => {
  const folder = await scratchFolder(t);
  chmodSync(folder, 0o755);
  const trust = trustPolicySchema.parse({ schemaVersion: 1, keys: [] });
  const [open, shut] = [join(folder, 'open'), join(folder, 'shut')];
  for (const path of [open, shut]) mkdirSync(path);
  writeFileSync(join(open, 'a.waiver.json'), '{}', { mode: 0 });
  writeFileSync(join(open, 'b.waiver.json'), '{}');
  chmodSync(shut, 0);
  const found = await asNobody(async () => [
    ...(await findWaivers(open, trust)),
    ...(await findWaivers(shut, trust)),
  ]);
  assert.deepEqual(
    found.map(({ path, waiver, failure }) => [path, waiver, failure?.code]),
    [
      [join(open, 'a.waiver.json'), null, 'not-verified'],
      [join(open, 'b.waiver.json'), null, 'not-verified'],
      [shut, null, 'not-verified'],
    ],
  );
  assert.match(found[0]?.failure?.message ?? '', /EACCES/);
});

test('what is wrong with a waiver is one line that begins with it, and steers nothing', async (t) => {
  const folder = await scratchFolder(t);
  const trust = trustPolicySchema.parse({ schemaVersion: 1, keys: [] });
  const file = '\u001b[31m.waiver.json';
  writeFileSync(join(folder, file), '{"payload":1}');
  const [faults] = await findWaivers(folder, trust);
  assert.equal(
    faults?.failure?.message,
    "it is no DSSE envelope: payload: is a number: quote it, '1'; payloadType: is missing; signatures: is missing",
  );
  const keyid = `\u001b[31m${'k'.repeat(1000)}`;
  writeFileSync(
    join(folder, file),
    `${JSON.stringify({ payload: '', payloadType: PAYLOAD_TYPE, signatures: [{ keyid, sig: '' }] })}\n`,
  );
  const [key] = await findWaivers(folder, trust);
  assert.match(
    key?.failure?.message ?? '',
    /^it names the key "\\u001b\[31mk{75}"…, which the trust policy lacks$/,
  );
});
