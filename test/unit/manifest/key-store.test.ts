import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import {
  generateKey,
  keyFolder,
  listKeys,
  loadKey,
  loadOrCreateKey,
} from '../../../src/manifest/key-store.js';
import { scratchFolder } from '../../support/folder.js';

const mode = async (path: string) => (await stat(path)).mode & 0o777;

test('keeps keys in the user’s config folder', () => {
  assert.equal(keyFolder({ XDG_CONFIG_HOME: '/c' }), '/c/qualify/keys');
  assert.equal(keyFolder({}), join(homedir(), '.config/qualify/keys'));
  assert.equal(keyFolder({ XDG_CONFIG_HOME: 'relative' }), join(homedir(), '.config/qualify/keys'));
});

test('writes the private half 0600 in a folder 0700, and both public halves', async (context) => {
  const folder = join(await scratchFolder(context), 'keys');
  await mkdir(folder, { mode: 0o755 });
  const key = await generateKey('mine', folder);
  assert.equal(await mode(folder), 0o700);
  assert.equal(await mode(key.path), 0o600);
  assert.deepEqual((await readdir(folder)).sort(), ['mine.pem', 'mine.pub', 'mine.pub.pem']);
  assert.equal(await readFile(join(folder, 'mine.pub.pem'), 'utf8'), key.publicKey.pem);
  const printed = execFileSync('ssh-keygen', ['-lf', join(folder, 'mine.pub')], { encoding: 'utf8' });
  assert.ok(printed.includes(` ${key.publicKey.keyId} qualify-mine `));
  const derived = execFileSync('openssl', ['pkey', '-in', key.path, '-pubout'], { encoding: 'utf8' });
  assert.equal(derived, key.publicKey.pem);
});

test('makes what is above the folder for this user alone, whatever the umask', async (context) => {
  const scratch = await scratchFolder(context);
  const before = process.umask(0);
  context.after(() => process.umask(before));
  await generateKey('mine', join(scratch, 'config', 'qualify', 'keys'));
  for (const path of ['config', 'config/qualify', 'config/qualify/keys'])
    assert.equal(await mode(join(scratch, path)), 0o700, path);
});

test('takes no key of a folder that others may write to', async (context) => {
  const folder = join(await scratchFolder(context), 'keys');
  await generateKey('mine', folder);
  for (const open of [0o777, 0o770, 0o702]) {
    await chmod(folder, open);
    const error = { code: 'ERR_QUALIFY_KEY_MODE', hint: /chmod 700/ };
    await assert.rejects(loadKey('mine', folder), error);
    await assert.rejects(listKeys(folder), error);
  }
  await chmod(folder, 0o755);
  assert.equal((await listKeys(folder)).length, 1);
});

test('lists a key whose public halves are not written yet', async (context) => {
  const folder = await scratchFolder(context);
  const { publicKey, path } = await generateKey('mine', folder);
  for (const half of ['mine.pub', 'mine.pub.pem']) await rm(join(folder, half));
  const listed = (await listKeys(folder)).map((key) => [key.name, key.own, key.path, key.publicKey.keyId]);
  assert.deepEqual(listed, [['mine', true, path, publicKey.keyId]]);
});

test('makes the key on the first run only', async (context) => {
  const folder = join(await scratchFolder(context), 'keys');
  const first = await loadOrCreateKey(folder);
  const second = await loadOrCreateKey(folder);
  assert.equal(first.created, true);
  assert.equal(second.created, false);
  assert.equal(second.publicKey.keyId, first.publicKey.keyId);
});

test('gives sessions that start together one key', async (context) => {
  const folder = join(await scratchFolder(context), 'keys');
  const keys = await Promise.all(Array.from({ length: 2 }, () => loadOrCreateKey(folder)));
  assert.equal(new Set(keys.map((key) => key.publicKey.keyId)).size, 1);
});

test('refuses to replace a key', async (context) => {
  const folder = await scratchFolder(context);
  const key = await generateKey('k', folder);
  await assert.rejects(generateKey('k', folder), { code: 'ERR_QUALIFY_KEY_EXISTS' });
  assert.equal((await loadKey('k', folder)).publicKey.keyId, key.publicKey.keyId);
  assert.deepEqual((await readdir(folder)).sort(), ['k.pem', 'k.pub', 'k.pub.pem']);
});

for (const bits of [0o640, 0o604, 0o620]) {
  test(`refuses a private key of mode ${bits.toString(8)} and names the remedy`, async (context) => {
    const folder = await scratchFolder(context);
    const { path } = await generateKey('k', folder);
    await chmod(path, bits);
    await assert.rejects(loadKey('k', folder), (error) => {
      assert.ok(error instanceof QualifyError);
      assert.equal(error.code, 'ERR_QUALIFY_KEY_MODE');
      assert.ok(error.hint?.includes(`chmod 600 ${path}`));
      return true;
    });
  });
}

test('does not replace an unreadable default key by a new one', async (context) => {
  const folder = await scratchFolder(context);
  await chmod((await generateKey('default', folder)).path, 0o644);
  await assert.rejects(loadOrCreateKey(folder), { code: 'ERR_QUALIFY_KEY_MODE' });
});

test('refuses a private key that is not Ed25519', async (context) => {
  const folder = await scratchFolder(context);
  const pem = execFileSync(
    'openssl',
    ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
    { stdio: 'pipe' },
  );
  await writeFile(join(folder, 'k.pem'), pem, { mode: 0o600 });
  await assert.rejects(loadKey('k', folder), /only Ed25519/);
  await writeFile(join(folder, 'k.pem'), 'not a key', { mode: 0o600 });
  await assert.rejects(loadKey('k', folder), { code: 'ERR_QUALIFY_PRIVATE_KEY' });
});

for (const name of ['', '../k', 'a/b', 'a.pub', '-k']) {
  test(`refuses ${JSON.stringify(name)} as the name of a key`, async (context) => {
    await assert.rejects(generateKey(name, await scratchFolder(context)), { code: 'ERR_QUALIFY_KEY_NAME' });
  });
}

test('lists own keys and trusted ones, each once', async (context) => {
  const folder = await scratchFolder(context);
  const own = await generateKey('own', folder);
  const other = await generateKey('other', folder);
  await rm(other.path);
  await rm(join(folder, 'other.pub.pem'));
  assert.deepEqual(
    (await listKeys(folder)).map(({ name, own: mine, publicKey }) => [name, mine, publicKey.keyId]),
    [
      ['other', false, other.publicKey.keyId],
      ['own', true, own.publicKey.keyId],
    ],
  );
});

test('lists nothing when there is no folder', async (context) => {
  assert.deepEqual(await listKeys(join(await scratchFolder(context), 'none')), []);
});

for (const [what, put] of [
  ['holds something else', (path: string) => writeFile(path, 'nonsense')],
  ['is a folder', (path: string) => mkdir(path)],
  ['is a pipe', async (path: string) => void execFileSync('mkfifo', [path])],
] as const) {
  test(`names a file that should be a key and ${what}, and how to go on`, async (context) => {
    const folder = await scratchFolder(context);
    const path = join(folder, 'bob.pub');
    await put(path);
    await assert.rejects(listKeys(folder), (error) => {
      assert.ok(error instanceof QualifyError);
      assert.deepEqual([error.code, error.exit], ['ERR_QUALIFY_KEY_FOLDER', 'infrastructure']);
      assert.ok(error.message.includes(path), error.message);
      assert.ok(error.hint?.includes('Move the file away'), error.hint);
      return true;
    });
  });
}
