import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rotateKey } from '../../../src/manifest/key-rotation.js';
import { generateKey, listKeys, loadKey } from '../../../src/manifest/key-store.js';
import { scratchFolder } from '../../support/folder.js';

const AT = new Date('2026-11-30T12:00:00Z');
const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/${name}.js`, import.meta.url));

test('makes a new key of the name and keeps the old one under the date', async (context) => {
  const folder = await scratchFolder(context);
  const before = await generateKey('default', folder);
  const bytes = await readFile(before.path);
  const { key, old } = await rotateKey('default', AT, folder);
  assert.notEqual(key.publicKey.keyId, before.publicKey.keyId);
  assert.equal(old.name, 'default-20261130');
  assert.deepEqual(await readFile(old.path), bytes);
  assert.deepEqual(
    (await listKeys(folder)).map(({ name, own, publicKey }) => [name, own, publicKey.keyId]),
    [
      ['default', true, key.publicKey.keyId],
      ['default-20261130', true, before.publicKey.keyId],
    ],
  );
  for (const { path } of [key, old]) assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await readdir(folder)).length, 6);
});

test('numbers what is rotated more than once a day', async (context) => {
  const folder = await scratchFolder(context);
  const first = await generateKey('default', folder);
  const second = await rotateKey('default', AT, folder);
  const third = await rotateKey('default', AT, folder);
  assert.equal(third.old.name, 'default-20261130-2');
  assert.equal(third.old.publicKey.keyId, second.key.publicKey.keyId);
  assert.equal((await loadKey('default-20261130', folder)).publicKey.keyId, first.publicKey.keyId);
});

test('rotates twice at once without losing a key', async (context) => {
  const folder = await scratchFolder(context);
  const first = await generateKey('default', folder);
  const made = await Promise.all([rotateKey('default', AT, folder), rotateKey('default', AT, folder)]);
  const ids = new Set([first, ...made.map(({ key }) => key)].map(({ publicKey }) => publicKey.keyId));
  assert.equal(ids.size, 3);
  assert.deepEqual(new Set((await listKeys(folder)).map(({ publicKey }) => publicKey.keyId)), ids);
});

test('refuses a key that is not there', async (context) => {
  const folder = await scratchFolder(context);
  await assert.rejects(rotateKey('none', AT, folder), { code: 'ERR_QUALIFY_NO_KEY' });
  assert.deepEqual(await readdir(folder), []);
});

test('writes public halves again that belong to another key', async (context) => {
  const folder = await scratchFolder(context);
  const [one, other] = [await generateKey('one', folder), await generateKey('other', folder)];
  await cp(join(folder, 'other.pub.pem'), join(folder, 'one.pub.pem'));
  assert.equal((await loadKey('one', folder)).publicKey.keyId, one.publicKey.keyId);
  const ids = (await listKeys(folder)).map(({ publicKey }) => publicKey.keyId);
  assert.deepEqual(ids, [one.publicKey.keyId, other.publicKey.keyId]);
});

test('killed before any of its steps, it leaves a key that signs and loses none', async (context) => {
  const folder = await scratchFolder(context);
  const template = join(folder, 'template');
  const before = await generateKey('default', template);
  const pem = await readFile(before.path, 'utf8');
  let steps = 0;
  for (; ; steps += 1) {
    const keys = join(folder, `${steps}`);
    await cp(template, keys, { recursive: true });
    const { status, signal, stderr } = spawnSync(
      process.execPath,
      ['--import', fixture('kill-at'), fixture('rotate-key'), keys],
      { env: { ...process.env, KILL_AT: String(steps + 1) }, encoding: 'utf8' },
    );
    if (status === 0) break;
    assert.equal(signal, 'SIGKILL', stderr);
    // Before anything else repairs something: the name has a private key, and the old one is among them.
    const privates = (await readdir(keys)).filter(
      (file) => file.endsWith('.pem') && !file.endsWith('.pub.pem'),
    );
    assert.ok(privates.includes('default.pem'), `step ${steps}`);
    const texts = await Promise.all(privates.map((file) => readFile(join(keys, file), 'utf8')));
    assert.ok(texts.includes(pem), `step ${steps} lost the old key`);
    for (const { own, name, publicKey } of await listKeys(keys)) {
      const real = own && (await loadKey(name, keys)).publicKey.keyId;
      assert.equal(publicKey.keyId, real, `step ${steps}: public half of ${name}`);
    }
    const signing = await loadKey('default', keys);
    assert.equal((await signing.sign(Buffer.from('x'))).length, 64);
    const { key } = await rotateKey('default', AT, keys);
    assert.notEqual(key.publicKey.keyId, signing.publicKey.keyId);
    assert.ok((await listKeys(keys)).some(({ publicKey }) => publicKey.keyId === before.publicKey.keyId));
  }
  assert.ok(steps >= 8, `${steps} steps were killed`);
});
