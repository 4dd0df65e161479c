import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import { findRuns } from '../../../src/gate/find-runs.js';
import { generateKey, type OwnKey } from '../../../src/manifest/key-store.js';
import { readManifest } from '../../../src/manifest/manifest.js';
import { sshLine } from '../../../src/manifest/public-key.js';
import { seal } from '../../../src/manifest/seal.js';
import type { Statement } from '../../../src/manifest/statement.js';
import { type VerifyOptions, verifyRun } from '../../../src/manifest/verify.js';
import { writeSigned } from '../../fixtures/lies.js';
import { type RunOptions, writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

interface Sealed {
  folder: string;
  run: string;
  key: OwnKey;
  /** Keys of the verifier: none. */
  keys: string;
}

async function sealedRun(context: TestContext, options: RunOptions = {}): Promise<Sealed> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  const key = await generateKey('signer', join(folder, 'signer'));
  await writeRun(run, options);
  await seal(run, key);
  return { folder, run, key, keys: join(folder, 'keys') };
}

const statementOf = async (run: string): Promise<Statement> =>
  JSON.parse(
    readManifest(await readFile(join(run, 'qualification.intoto.jsonl'))).observation.payload.toString(),
  );

/** Asserts exit 16, the file that is named, and the reason. */
async function refuses(
  { run, keys }: Sealed,
  file: string,
  why: RegExp,
  options: VerifyOptions = {},
): Promise<void> {
  await assert.rejects(verifyRun(run, { keyFolder: keys, ...options }), (error) => {
    assert.ok(error instanceof QualifyError, String(error));
    assert.equal(error.exitCode, 16);
    assert.equal(error.where, file, error.message);
    assert.match(error.message, why);
    return true;
  });
}

test('verifies what was sealed, at another place', async (context) => {
  const { run, key, keys } = await sealedRun(context, { rounds: 2 });
  const elsewhere = join(await scratchFolder(context), 'moved', 'run');
  await cp(run, elsewhere, { recursive: true });
  await rm(run, { recursive: true });
  const { signer, statement, checks } = await verifyRun(elsewhere, { keyFolder: keys });
  assert.equal(signer.key.keyId, key.publicKey.keyId);
  assert.equal(statement.predicate.cells[0]?.arms.head?.n, 4);
  assert.deepEqual(
    checks.map(({ name }) => name),
    ['signature', 'evidence', 'plan', 'exchanges', 'verdict', 'statement'],
  );
});

test('verifies a run whose verdict is a failure', async (context) => {
  const { run, keys } = await sealedRun(context, {
    alter: (draft) => (draft.kind === 'end' ? { ...draft, complete: false } : draft),
  });
  const { statement } = await verifyRun(run, { keyFolder: keys });
  assert.equal(statement.predicate.complete, false);
  assert.notEqual(statement.predicate.exitCode, 0);
});

test('says that a signer is unknown, trusted, own, or the one asked for', async (context) => {
  const { folder, run, key, keys } = await sealedRun(context);
  const trust = async (options: VerifyOptions) => {
    const { signer } = await verifyRun(run, { keyFolder: keys, ...options });
    return [signer.trust, signer.name];
  };
  assert.deepEqual(await trust({}), ['unknown', null]);
  assert.deepEqual(await trust({ keyFolder: join(folder, 'signer') }), ['own', 'signer']);
  assert.deepEqual(await trust({ key: join(folder, 'signer', 'signer.pub') }), ['asked', null]);
  assert.deepEqual(await trust({ key: join(folder, 'signer', 'signer.pub.pem') }), ['asked', null]);
  assert.deepEqual(await trust({ key: key.publicKey.keyId }), ['asked', null]);
  await mkdir(keys);
  await writeFile(join(keys, 'alice.pub'), `${sshLine(key.publicKey, 'alice')}\n`);
  assert.deepEqual(await trust({}), ['trusted', 'alice']);
  assert.deepEqual(await trust({ key: key.publicKey.keyId }), ['asked', 'alice']);
});

test('verifies without the travelling key when the signer is trusted', async (context) => {
  const sealed = await sealedRun(context);
  await rm(join(sealed.run, 'key.pub.pem'));
  await verifyRun(sealed.run, { keyFolder: join(sealed.folder, 'signer') });
  await refuses(sealed, 'key.pub.pem', /is missing, and none of your keys signed/);
});

test('refuses another key than the one asked for', async (context) => {
  const sealed = await sealedRun(context);
  const other = await generateKey('other', join(sealed.folder, 'others'));
  const path = join(sealed.folder, 'others', 'other.pub');
  await refuses(sealed, 'qualification.intoto.jsonl', /is not signed by the key you asked for, SHA256:/, {
    key: path,
  });
  await refuses(sealed, 'qualification.intoto.jsonl', /is not signed by the key you asked for, SHA256:/, {
    key: other.publicKey.keyId,
  });
});

test('refuses a run that carries another key than the one that signed', async (context) => {
  const sealed = await sealedRun(context);
  const other = await generateKey('other', join(sealed.folder, 'others'));
  await writeFile(join(sealed.run, 'key.pub.pem'), other.publicKey.pem);
  await refuses(sealed, 'key.pub.pem', /is not the signer's key/);
  const asked = join(sealed.folder, 'signer', 'signer.pub');
  await refuses(sealed, 'key.pub.pem', /is not the signer's key/, { key: asked });
});

test('refuses a statement that another key signed again', async (context) => {
  const sealed = await sealedRun(context);
  const thief = await generateKey('thief', join(sealed.folder, 'thief'));
  await writeSigned(sealed.run, await statementOf(sealed.run), thief);
  await writeFile(join(sealed.run, 'key.pub.pem'), thief.publicKey.pem);
  await refuses(sealed, 'qualification.intoto.jsonl', /signed again by/);
});

test('says usage when the run or the key is not there', async (context) => {
  const { run, keys } = await sealedRun(context);
  await assert.rejects(verifyRun(`${run}-none`, { keyFolder: keys }), {
    code: 'ERR_QUALIFY_NO_RUN',
    exit: 'usage',
  });
  await assert.rejects(verifyRun(run, { key: `${run}-none` }), {
    code: 'ERR_QUALIFY_KEY_FILE',
    exit: 'usage',
  });
});

test('refuses to seal a folder twice', async (context) => {
  const { run, key } = await sealedRun(context);
  await assert.rejects(seal(run, key), { code: 'ERR_QUALIFY_SEAL' });
});

test('refuses an added file, wherever it is', async (context) => {
  const sealed = await sealedRun(context);
  for (const path of ['evidence/extra.json', 'extra']) {
    await writeFile(join(sealed.run, path), 'x');
    await refuses(sealed, path, /added later/);
    await rm(join(sealed.run, path));
  }
  await writeFile(join(sealed.run, '.hidden'), 'x');
  await refuses(sealed, '".hidden"', /name that no run writes/);
});

test('refuses a file that is gone', async (context) => {
  for (const path of [
    'verdict.json',
    'evidence/machine.json',
    'evidence.sha256',
    'qualification.intoto.jsonl',
    'qualification.sigstore.json',
  ]) {
    const sealed = await sealedRun(context);
    await rm(join(sealed.run, path));
    await refuses(sealed, path, /is missing/);
  }
});

test('says of a run whose journal has no end that it is not finished, whatever else there is', async (context) => {
  const { run, keys } = await sealedRun(context);
  await rm(join(run, 'qualification.intoto.jsonl'));
  const journal = join(run, 'journal.jsonl');
  const lines = (await readFile(journal, 'utf8')).split('\n');
  assert.match(lines.at(-2) ?? '', /"kind":"end"/);
  for (const left of [lines.slice(0, -2).join('\n'), '']) {
    await writeFile(journal, left);
    await writeFile(join(run, 'verdict.json'), '');
    await assert.rejects(verifyRun(run, { keyFolder: keys }), {
      code: 'ERR_QUALIFY_RUN_UNFINISHED',
      exit: 'invalid',
    });
    const [found] = await findRuns(run);
    assert.equal(found?.failure?.code, 'unfinished');
  }
});

test('refuses two files that were swapped', async (context) => {
  const sealed = await sealedRun(context);
  const folder = join(sealed.run, 'evidence/responses');
  const [launch = ''] = (await readdir(folder)).sort();
  const [a = '', b = ''] = (await readdir(join(folder, launch))).sort();
  await rename(join(folder, launch, a), join(folder, 'kept'));
  await rename(join(folder, launch, b), join(folder, launch, a));
  await rename(join(folder, 'kept'), join(folder, launch, b));
  await refuses(sealed, `evidence/responses/${launch}/${a}`, /has changed: its SHA-256/);
});

test('refuses a link in the place of a file or folder, even to the same bytes', async (context) => {
  for (const path of [
    'plan.json',
    'qualification.intoto.jsonl',
    'evidence.sha256',
    'key.pub.pem',
    'qualification.sigstore.json',
    'qualification.intoto.jsonl.sig',
    'evidence',
  ]) {
    const sealed = await sealedRun(context);
    const target = join(sealed.folder, 'target');
    await rename(join(sealed.run, path), target);
    await symlink(target, join(sealed.run, path));
    await refuses(sealed, path, /plain file/);
  }
});

test('refuses a folder in the place of a file', async (context) => {
  const sealed = await sealedRun(context);
  await rm(join(sealed.run, 'qualification.intoto.jsonl'));
  await mkdir(join(sealed.run, 'qualification.intoto.jsonl'));
  await refuses(sealed, 'qualification.intoto.jsonl', /plain file/);
});

test('does not let what strangers wrote steer the terminal', async (context) => {
  const sealed = await sealedRun(context);
  await writeFile(join(sealed.run, '\u001b[2Jname'), 'x');
  await assert.rejects(verifyRun(sealed.run), (error) => {
    assert.ok(error instanceof Error);
    assert.ok(!error.message.includes('\u001b'), JSON.stringify(error.message));
    return true;
  });
});
