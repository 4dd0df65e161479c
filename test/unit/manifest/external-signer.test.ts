import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, Verifier } from '@sigstore/verify';
import type { QualifyError } from '../../../src/errors.js';
import { harnessFolder } from '../../../src/harness.js';
import { externalSigner, probeSigner } from '../../../src/manifest/external-signer.js';
import type { SigningKey } from '../../../src/manifest/key-store.js';
import { type PublicKey, publicKeyFromObject } from '../../../src/manifest/public-key.js';
import { seal } from '../../../src/manifest/seal.js';
import { isSignedBy } from '../../../src/manifest/signature.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

const message = Buffer.from('a message');

/** The script of docs/trust.md. */
async function documented(): Promise<string> {
  const text = await readFile(join(harnessFolder, 'docs/trust.md'), 'utf8');
  const script = /<!-- signer:begin -->\s*```sh\n(.*?)```\s*<!-- signer:end -->/s.exec(text)?.[1];
  assert.ok(script, 'docs/trust.md has a script between the markers');
  return script;
}

interface Made {
  folder: string;
  key: PublicKey;
  signer: (script: string, limitMs?: number) => Promise<SigningKey>;
}

async function made(
  context: TestContext,
  { publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
  }),
): Promise<Made> {
  const folder = await scratchFolder(context);
  const key = publicKeyFromObject(publicKey, 'made');
  await writeFile(join(folder, 'key.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }), {
    mode: 0o600,
  });
  await writeFile(join(folder, 'key.pub.pem'), key.pem);
  const signer = async (script: string, limitMs?: number): Promise<SigningKey> => {
    const path = join(folder, 'sign');
    await writeFile(path, script);
    await chmod(path, 0o755);
    const environment = {
      PATH: process.env.PATH,
      QUALIFY_SIGNER: `${path}  ${join(folder, 'key.pem')}`,
      QUALIFY_SIGNER_KEY: join(folder, 'key.pub.pem'),
    };
    const found = await externalSigner(environment, limitMs);
    assert.ok(found);
    return found;
  };
  return { folder, key, signer };
}

test('signs by the command of the docs, on P-256, with the lower s every time', async (context) => {
  const { key, signer } = await made(context);
  const external = await signer(await documented());
  assert.equal(external.publicKey.keyId, key.keyId);
  await probeSigner(external);
  for (let round = 0; round < 8; round += 1)
    assert.equal(isSignedBy(key, message, await external.sign(message)), true);
});

test('seals a run that verifies, with openssl and jq too, and has no SSH signature', async (context) => {
  const { folder, key, signer } = await made(context);
  const run = join(folder, 'run');
  await mkdir(run);
  await writeRun(run);
  await seal(run, await signer(await documented()));
  const { checks, signer: found } = await verifyRun(run, { key: join(folder, 'key.pub.pem') });
  assert.equal(found.key.keyId, key.keyId);
  assert.match(checks[0]?.found ?? '', /^ECDSA P-256 over the statement/);
  await assert.rejects(readFile(join(run, 'qualification.intoto.jsonl.sig')), { code: 'ENOENT' });
  const readme = await readFile(join(harnessFolder, 'README.md'), 'utf8');
  const section = /<!-- verify:begin -->(.*)<!-- verify:end -->/s.exec(readme)?.[1] ?? '';
  const block = /^```sh\n(.*?)^```$/ms.exec(section)?.[1] ?? '';
  const output = execFileSync('sh', ['-c', block], {
    cwd: run,
    env: { PATH: process.env.PATH, TMPDIR: folder, KEY: join(folder, 'key.pub.pem') },
    encoding: 'utf8',
  });
  assert.match(output, /Signature Verified Successfully/);
});

test("sigstore's library takes the bundle of a P-256 key, and refuses it under another", async (context) => {
  const { folder, key, signer } = await made(context);
  const run = join(folder, 'run');
  await writeRun(run);
  await seal(run, await signer(await documented()));
  const bundle = bundleFromJSON(JSON.parse(await readFile(join(run, 'qualification.sigstore.json'), 'utf8')));
  const verifyWith = (pem: string) =>
    new Verifier(
      {
        ...{ certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] },
        publicKey: () => ({ publicKey: createPublicKey(pem), validFor: () => true }),
      },
      { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 },
    ).verify(toSignedEntity(bundle));
  verifyWith(key.pem);
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
  const pem = other.export({ format: 'pem', type: 'spki' }).toString();
  assert.throws(() => verifyWith(pem), /signature verification failed/);
});

test('signs with Ed25519 too', async (context) => {
  const { key, signer } = await made(context, generateKeyPairSync('ed25519'));
  const script = '#!/bin/sh\ncat >"$1.in"\nopenssl pkeyutl -sign -inkey "$1" -rawin -in "$1.in"\n';
  assert.equal(isSignedBy(key, message, await (await signer(script)).sign(message)), true);
});

const P1363 = `#!/usr/bin/env node
const { sign } = require('crypto'), { readFileSync } = require('fs');
const key = { key: readFileSync(process.argv[2]), dsaEncoding: 'ieee-p1363' };
process.stdout.write(sign('sha256', readFileSync(0), key));
`;

const wrong: Record<string, [string, RegExp]> = {
  'r and s one after the other': [P1363, /answered with a signature that is 64 bytes long.*IEEE P1363.*DER/],
  'a signature of something else': [
    '#!/bin/sh\necho other | openssl dgst -sha256 -sign "$1"\n',
    /not by SHA256:.*the key of QUALIFY_SIGNER_KEY/,
  ],
  base64: ['#!/bin/sh\nopenssl dgst -sha256 -sign "$1" | base64\n', /no ECDSA signature in DER/],
  nothing: ['#!/bin/sh\ncat >/dev/null\n', /no ECDSA signature in DER/],
  'a failure, with what it said': [
    '#!/bin/sh\nprintf "no \\033[31mcredentials\\n" >&2\nexit 3\n',
    /ended with exit code 3\.\nno \?\[31mcredentials$/,
  ],
  'a signature and a failure': [
    '#!/bin/sh\nopenssl dgst -sha256 -sign "$1"\nexit 1\n',
    /ended with exit code 1/,
  ],
  'too much': ['#!/bin/sh\nyes\n', /wrote more than 4096 bytes/],
};
for (const [what, [script, expected]] of Object.entries(wrong)) {
  test(`refuses a command that answers ${what}`, async (context) => {
    const external = await (await made(context)).signer(script);
    const error = await refusal(external.sign(message));
    assert.equal(error.code, 'ERR_QUALIFY_SIGNER');
    assert.equal(error.exitCode, 15);
    assert.match(error.message, expected);
  });
}

/** Refused at a limit of 1 s; of more, when the machine is so busy that the command has not begun by then: `begun` is what it writes. */
async function refusedAtLimit({ signer }: Made, script: string, begun: string): Promise<QualifyError> {
  for (let limitMs = 1000; ; limitMs *= 4) {
    const error = await refusal((await signer(script, limitMs)).sign(message));
    assert.match(error.message, /took longer than \d+ s/);
    if (existsSync(begun) && (await readFile(begun, 'utf8')) !== '') return error;
  }
}

/** Waits until nothing writes a file any more. */
async function settled(path: string): Promise<void> {
  for (let left = 25; left > 0; left -= 1) {
    const last = await readFile(path, 'utf8');
    await sleep(400);
    if ((await readFile(path, 'utf8')) === last) return;
  }
  assert.fail(`something still writes ${path}`);
}

test('ends a command that takes too long, with all that it started', async (context) => {
  const found = await made(context);
  const alive = join(found.folder, 'alive');
  const script = `#!/bin/sh\n(while :; do date +%N >"${alive}"; sleep 0.05; done) &\nsleep 60\n`;
  await refusedAtLimit(found, script, alive);
  await settled(alive);
});

test('does not wait for what left the group and keeps the output open', async (context) => {
  const found = await made(context);
  const pidFile = join(found.folder, 'pid');
  const away = `setsid sh -c 'echo $$ >"${pidFile}"; exec sleep 60' &`;
  for (const rest of ['sleep 60', 'exit 0']) {
    await rm(pidFile, { force: true });
    await refusedAtLimit(found, `#!/bin/sh\n${away}\n${rest}\n`, pidFile);
    const pid = Number(await readFile(pidFile, 'utf8'));
    // It is there still, or else it was waited for. Throws when it is not.
    process.kill(pid, 'SIGKILL');
  }
});

test('leaves nothing of a command that answers and goes on in the background', async (context) => {
  const { folder, key, signer } = await made(context);
  const alive = join(folder, 'alive');
  const loop = `(while :; do date +%N >"${alive}"; sleep 0.05; done) >/dev/null 2>&1 </dev/null &`;
  const begun = `while [ ! -s "${alive}" ]; do sleep 0.01; done`;
  const external = await signer(`#!/bin/sh\n${loop}\n${begun}\nopenssl dgst -sha256 -sign "$1"\n`);
  assert.equal(isSignedBy(key, message, await external.sign(message)), true);
  await settled(alive);
});

test('starts no shell, and says when the command is not there', async (context) => {
  const { folder } = await made(context);
  const key = { QUALIFY_SIGNER_KEY: join(folder, 'key.pub.pem'), PATH: process.env.PATH };
  const shell = await externalSigner({ ...key, QUALIFY_SIGNER: `echo $(touch ${folder}/touched) ; true` });
  assert.ok(shell);
  await assert.rejects(shell.sign(message), { code: 'ERR_QUALIFY_SIGNER' });
  await assert.rejects(readFile(join(folder, 'touched')), { code: 'ENOENT' });
  const none = await externalSigner({ ...key, QUALIFY_SIGNER: join(folder, 'none') });
  assert.ok(none);
  assert.match((await refusal(none.sign(message))).message, /cannot be started\.\n.*ENOENT/);
});

test('needs both variables or neither, and a key that is one', async (context) => {
  const { folder } = await made(context);
  assert.equal(await externalSigner({}), null);
  assert.equal(await externalSigner({ QUALIFY_SIGNER: '', QUALIFY_SIGNER_KEY: '' }), null);
  for (const environment of [
    { QUALIFY_SIGNER: 'sign' },
    { QUALIFY_SIGNER_KEY: join(folder, 'key.pub.pem') },
  ]) {
    const error = await refusal(externalSigner(environment));
    assert.equal(error.code, 'ERR_QUALIFY_USAGE');
    assert.equal(error.exitCode, 64);
  }
  const noFile = { QUALIFY_SIGNER: 'sign', QUALIFY_SIGNER_KEY: join(folder, 'none.pub') };
  assert.equal((await refusal(externalSigner(noFile))).code, 'ERR_QUALIFY_KEY_FILE');
  const privateKey = { QUALIFY_SIGNER: 'sign', QUALIFY_SIGNER_KEY: join(folder, 'key.pem') };
  assert.equal((await refusal(externalSigner(privateKey))).code, 'ERR_QUALIFY_KEY_FILE');
});
