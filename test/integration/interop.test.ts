/** What others' programs make of a sealed run: OpenSSH as docs/manifest.md shows it, and sigstore's library for JavaScript. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, Verifier } from '@sigstore/verify';
import { harnessFolder } from '../../src/harness.js';
import { generateKey, type SigningKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { PREDICATE_TYPE } from '../../src/manifest/statement.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';

interface Sealed {
  folder: string;
  run: string;
  key: SigningKey;
}

async function sealedRun(context: TestContext): Promise<Sealed> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  const key = await generateKey('alice', join(folder, 'keys'));
  await writeRun(run);
  await seal(run, key);
  return { folder, run, key };
}

/** The commands of docs/manifest.md in a copy of the run folder, with `alice.pub` beside. */
async function sshVerify(
  { folder, run }: Sealed,
  change: (commands: string, copy: string) => Promise<string> = async (commands) => commands,
): Promise<{ code: number | null; output: string }> {
  const docs = await readFile(join(harnessFolder, 'docs/manifest.md'), 'utf8');
  const commands = [...docs.matchAll(/^```sh\n(.*?)^```$/gms)].find(([, text]) =>
    text?.includes('-Y verify'),
  )?.[1];
  assert.ok(commands, 'docs/manifest.md shows the commands');
  const copy = join(folder, 'copy');
  await cp(run, copy, { recursive: true });
  await cp(join(folder, 'keys', 'alice.pub'), join(copy, 'alice.pub'));
  const script = await change(commands, copy);
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { cwd: copy, encoding: 'utf8' });
  return { code: status, output: stdout + stderr };
}

test('ssh-keygen accepts the manifest of a signer whose key it is given', async (context) => {
  const sealed = await sealedRun(context);
  const { code, output } = await sshVerify(sealed);
  assert.equal(code, 0, output);
  assert.match(
    output,
    /Good "qualification@qualify-dev\.github\.io" signature for alice with ED25519 key SHA256:/,
  );
  assert.ok(output.includes(sealed.key.publicKey.keyId));
});

test('ssh-keygen refuses another namespace', async (context) => {
  const sealed = await sealedRun(context);
  const { code, output } = await sshVerify(sealed, async (commands) =>
    commands.replace('-n qualification@qualify-dev.github.io', '-n file'),
  );
  assert.notEqual(code, 0, output);
  assert.match(output, /namespace/i);
});

test('ssh-keygen refuses a changed byte, of either line', async (context) => {
  for (const at of [1, -3]) {
    const sealed = await sealedRun(context);
    const { code, output } = await sshVerify(sealed, async (commands, copy) => {
      const path = join(copy, 'qualification.intoto.jsonl');
      const bytes = await readFile(path);
      const offset = (at + bytes.length) % bytes.length;
      bytes[offset] = (bytes[offset] ?? 0) ^ 1;
      await writeFile(path, bytes);
      return commands;
    });
    assert.notEqual(code, 0, output);
    assert.match(output, /incorrect signature/);
  }
});

test('ssh-keygen refuses the key of somebody else', async (context) => {
  const sealed = await sealedRun(context);
  await generateKey('bob', join(sealed.folder, 'others'));
  const { code, output } = await sshVerify(sealed, async (commands, copy) => {
    await cp(join(sealed.folder, 'others', 'bob.pub'), join(copy, 'alice.pub'));
    return commands;
  });
  assert.notEqual(code, 0, output);
  assert.match(output, /Could not verify signature|no principal matched/i);
});

/** What a verifier without a transparency log asks of a bundle, with the one key that it trusts. */
async function sigstoreVerify(run: string, key: SigningKey): Promise<{ predicateType: string }> {
  const bundle = bundleFromJSON(JSON.parse(await readFile(join(run, 'qualification.sigstore.json'), 'utf8')));
  const verifier = new Verifier(
    {
      ...{ certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
      publicKey: (hint) => {
        assert.equal(hint, key.publicKey.keyId);
        return { publicKey: createPublicKey(key.publicKey.pem), validFor: () => true };
      },
    },
    { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 },
  );
  verifier.verify(toSignedEntity(bundle));
  assert.ok(bundle.content.$case === 'dsseEnvelope');
  return JSON.parse(bundle.content.dsseEnvelope.payload.toString());
}

/** Replaces the payload of the bundle by a changed one, in base64 as it was. */
async function changePayload(run: string, change: (statement: string) => string): Promise<void> {
  const path = join(run, 'qualification.sigstore.json');
  const bundle = JSON.parse(await readFile(path, 'utf8'));
  const statement = Buffer.from(bundle.dsseEnvelope.payload, 'base64').toString();
  const changed = change(statement);
  assert.notEqual(changed, statement, 'the change must hit');
  bundle.dsseEnvelope.payload = Buffer.from(changed).toString('base64');
  await writeFile(path, `${JSON.stringify(bundle)}\n`);
}

test("sigstore's library accepts the bundle", async (context) => {
  const { run, key } = await sealedRun(context);
  assert.equal((await sigstoreVerify(run, key)).predicateType, PREDICATE_TYPE);
});

test("sigstore's library refuses a changed payload and another key", async (context) => {
  const { folder, run, key } = await sealedRun(context);
  const other = await generateKey('bob', join(folder, 'others'));
  const impostor = { ...other, publicKey: { ...other.publicKey, keyId: key.publicKey.keyId } };
  await assert.rejects(sigstoreVerify(run, impostor), /signature verification failed/);
  await changePayload(run, (statement) => statement.replace('"result":"inconclusive"', '"result":"pass"'));
  await assert.rejects(sigstoreVerify(run, key), /signature verification failed/);
});

test("compares the digests of subjects, which sigstore's library leaves to others (CVE-2026-31830)", async (context) => {
  const { folder, run, key } = await sealedRun(context);
  await writeFile(join(run, 'evidence.sha256'), `${'0'.repeat(64)}  journal.jsonl\n`);
  await sigstoreVerify(run, key);
  await assert.rejects(verifyRun(run, { keyFolder: join(folder, 'keys') }), {
    ...{ exitCode: 16, where: 'evidence.sha256', message: /which the statement does not have/ },
  });
});
