import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { QualifyError } from '../../../src/errors.js';
import { type PublicKey, sshLine } from '../../../src/manifest/public-key.js';
import { addKey, EMPTY_POLICY } from '../../../src/manifest/trust-edit.js';
import {
  editTrustPolicy,
  formatTrustPolicy,
  parseTrustPolicy,
  readTrustPolicy,
  writeTrustPolicy,
} from '../../../src/manifest/trust-file.js';
import type { TrustPolicy } from '../../../src/manifest/trust-policy.js';
import { made } from '../../fixtures/public-key.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/${name}.js`, import.meta.url));
const [one, two] = [made(), made()];
const entry = (key: PublicKey, change: object = {}) => ({
  ...{ keyId: key.keyId, publicKey: sshLine(key, 'with a comment'), roles: ['observer'] },
  ...change,
});
const parse = (policy: object) => parseTrustPolicy(Buffer.from(JSON.stringify(policy)), 'trust.json');
const good = { schemaVersion: 1, keys: [entry(one), entry(two, { roles: ['verifier', 'maintainer'] })] };

test('reads a policy', () => {
  assert.deepEqual(parse(good), good);
});

const from = '2026-01-01T00:00:00Z';
const wrong: Record<string, [object, RegExp]> = {
  'a name that is not that of the key': [
    { keys: [entry(one, { keyId: two.keyId })] },
    /: line 1: keys\.0\.keyId: is SHA256:.* but its publicKey has the name SHA256:/,
  ],
  'a key twice': [
    { keys: [entry(one), entry(two), entry(one)] },
    /: line 1: keys\.2: is the key of keys\.0 once more/,
  ],
  'a key twice under another comment': [
    { keys: [entry(one), entry(one, { publicKey: sshLine(one, 'another'), roles: ['verifier'] })] },
    /once more/,
  ],
  'a role that there is not': [{ keys: [entry(one, { roles: ['admin'] })] }, /roles/],
  'no role': [{ keys: [entry(one, { roles: [] })] }, /roles/],
  'a role twice': [{ keys: [entry(one, { roles: ['observer', 'observer'] })] }, /names a role twice/],
  'machines of one who observes none': [
    { keys: [entry(one, { roles: ['verifier'], machines: ['a'.repeat(64)] })] },
    /: line 1: keys\.0\.machines: says which/,
  ],
  'a window that never opens': [
    { keys: [entry(one, { notBefore: '2026-01-02T00:00:00Z', notAfter: from })] },
    /never/,
  ],
  'a field that there is not': [{ keys: [entry(one, { trusted: true })] }, /trusted/],
  'a date without a zone': [{ keys: [entry(one, { notAfter: '2026-01-01T00:00:00' })] }, /notAfter/],
  'a date with another zone': [{ expires: '2026-01-01T00:00:00+01:00' }, /expires/],
  'a reason that there is not': [
    { keys: [entry(one, { revoked: { since: from, reason: 'lost' } })] },
    /reason/,
  ],
  'another version': [{ schemaVersion: 2 }, /schemaVersion/],
  'no key': [{ keys: [entry(one, { publicKey: 'hello' })] }, /: line 1: keys\.0\.publicKey: it is neither/],
  'a key of small order': [
    { keys: [entry(one, { publicKey: `ssh-ed25519 ${lowOrderBlob()}` })] },
    /: line 1: keys\.0\.publicKey: it is a point of small order/,
  ],
};

function lowOrderBlob(): string {
  const text = (bytes: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), bytes]);
  const identity = Buffer.alloc(32);
  identity[0] = 1;
  return Buffer.concat([text(Buffer.from('ssh-ed25519')), text(identity)]).toString('base64');
}

for (const [what, [change, message]] of Object.entries(wrong)) {
  test(`refuses ${what}`, () => {
    assert.throws(() => parse({ ...good, ...change }), {
      code: 'ERR_QUALIFY_TRUST_POLICY',
      message,
      exit: 'usage',
    });
  });
}

test('names the line of each fault, of a key that is unknown that of the key, and the place of the first', () => {
  const lines = (policy: object): string[] => JSON.stringify(policy, null, 2).split('\n');
  const places = (text: string): [where: string | undefined, told: string[]] => {
    try {
      parseTrustPolicy(Buffer.from(text), 'trust.json');
    } catch (error) {
      assert.ok(error instanceof QualifyError);
      return [error.where, error.message.match(/line \d+: \S+ /g) ?? []];
    }
    return [undefined, []];
  };
  const bad = { ...good, keys: [entry(one, { roles: ['admin'], trusted: true }), entry(two)] };
  const text = lines(bad);
  const role = text.findIndex((line) => line.includes('"admin"')) + 1;
  const trustedAt = text.findIndex((line) => line.includes('"trusted"')) + 1;
  assert.deepEqual(places(text.join('\n')), [
    `trust.json:${role}:9`,
    [`line ${role}: keys.0.roles.0: `, `line ${trustedAt}: keys.0: `],
  ]);
  const again = lines({ ...good, keys: [entry(one), entry(two), entry(one)] });
  const third = again.flatMap((line, at) => (line === '    {' ? [at + 1] : []))[2];
  assert.deepEqual(places(again.join('\n')), [`trust.json:${third}:5`, [`line ${third}: keys.2: `]]);
  assert.deepEqual(places('{\n  "schemaVersion": 1\n}'), ['trust.json:1:1', ['line 1: keys: ']]);
});

test('refuses what is no plain JSON', () => {
  const twice = JSON.stringify(good).replace('{', '{"schemaVersion":1,');
  assert.throws(
    () => parseTrustPolicy(Buffer.from(twice), 't.json'),
    /t\.json is no trust policy: it has the key "schemaVersion" twice/,
  );
  assert.throws(
    () => parseTrustPolicy(Buffer.from('nonsense'), 't.json'),
    /t\.json is no trust policy: it is not JSON/,
  );
  assert.throws(() => parseTrustPolicy(Buffer.alloc(1024 * 1024 + 1), 't.json'), /at most/);
});

test('names the file that cannot be read', async (context) => {
  const path = join(await scratchFolder(context), 'none.json');
  const error = await refusal(readTrustPolicy(path));
  assert.equal(error.code, 'ERR_QUALIFY_TRUST_FILE');
  assert.equal(error.where, path);
});

test('writes what it reads, in place of what a link leads to, and leaves nothing beside it', async (context) => {
  const folder = await scratchFolder(context);
  const [path, link] = [join(folder, 'trust.json'), join(folder, 'link.json')];
  await writeFile(path, '{}');
  await symlink(path, link);
  await writeTrustPolicy(link, good as TrustPolicy);
  assert.deepEqual(await readTrustPolicy(path), good);
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.deepEqual((await readdir(folder)).sort(), ['link.json', 'trust.json']);
});

test('edits that are made at once are all in it, and nothing lies beside it', async (context) => {
  const folder = await scratchFolder(context);
  const [path, link] = [join(folder, 'trust.json'), join(folder, 'link.json')];
  await symlink('trust.json', link);
  const added = Array.from({ length: 8 }, made);
  const edits = added.map((key, at) =>
    editTrustPolicy(
      // A file that is not there yet has one name only.
      path,
      (policy) => addKey(policy, key, { roles: at % 2 === 0 ? ['observer'] : ['verifier'] }),
      EMPTY_POLICY,
    ),
  );
  await Promise.all(edits);
  const late = [made(), made()];
  const through = late.map((key, at) =>
    editTrustPolicy(at === 0 ? path : link, (policy) => addKey(policy, key, { roles: ['observer'] })),
  );
  await Promise.all(through);
  const names = (await readTrustPolicy(path)).keys.map(({ keyId }) => keyId);
  assert.deepEqual(names.sort(), [...added, ...late].map(({ keyId }) => keyId).sort());
  assert.deepEqual((await readdir(folder)).sort(), ['link.json', 'trust.json']);
});

test('what an edit refuses leaves the file and its folder as they are', async (context) => {
  const folder = await scratchFolder(context);
  const path = join(folder, 'trust.json');
  const refuse = (): never => {
    throw new QualifyError('ERR_QUALIFY_TRUST_EDIT', 'no', { exit: 'usage' });
  };
  const none = await refusal(editTrustPolicy(join(folder, 'no', 't.json'), (policy) => policy));
  assert.equal(none.code, 'ERR_QUALIFY_TRUST_FILE');
  assert.equal((await refusal(editTrustPolicy(path, refuse, EMPTY_POLICY))).code, 'ERR_QUALIFY_TRUST_EDIT');
  const unwritable = editTrustPolicy(join(folder, 'no', 't.json'), (policy) => policy, EMPTY_POLICY);
  assert.equal((await refusal(unwritable)).code, 'ERR_QUALIFY_TRUST_WRITE');
  assert.deepEqual(await readdir(folder), []);
});

test('killed before any of its steps, it leaves the old policy or the new one', async (context) => {
  const folder = await scratchFolder(context);
  const after = formatTrustPolicy({ schemaVersion: 1, keys: [] });
  let steps = 0;
  for (; ; steps += 1) {
    const path = join(folder, `${steps}.json`);
    await writeTrustPolicy(path, good as TrustPolicy);
    const before = await readFile(path, 'utf8');
    const { status, signal, stderr } = spawnSync(
      process.execPath,
      ['--import', fixture('kill-at'), fixture('empty-policy'), path],
      { env: { ...process.env, KILL_AT: String(steps + 1) }, encoding: 'utf8' },
    );
    const text = await readFile(path, 'utf8');
    if (status === 0) {
      assert.equal(text, after);
      break;
    }
    assert.equal(signal, 'SIGKILL', stderr);
    assert.equal(text, before);
  }
  assert.ok(steps >= 2, `${steps} steps were killed`);
});

test('does not write what it would not read, and leaves the file as it was', async (context) => {
  const folder = await scratchFolder(context);
  const path = join(folder, 'trust.json');
  await writeTrustPolicy(path, good as TrustPolicy);
  const before = await readFile(path);
  const twice = { ...good, keys: [...good.keys, ...good.keys] } as TrustPolicy;
  await assert.rejects(writeTrustPolicy(path, twice), /once more/);
  assert.deepEqual(await readFile(path), before);
  await chmod(folder, 0o500);
  if (process.getuid?.() !== 0) {
    assert.equal(
      (await refusal(writeTrustPolicy(path, good as TrustPolicy))).code,
      'ERR_QUALIFY_TRUST_WRITE',
    );
  }
  await chmod(folder, 0o700);
  assert.equal(
    (await refusal(writeTrustPolicy(join(folder, 'no', 't.json'), good as TrustPolicy))).code,
    'ERR_QUALIFY_TRUST_WRITE',
  );
  assert.deepEqual(await readdir(folder), ['trust.json']);
});
