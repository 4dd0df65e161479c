/** Keys under the name of others, and signatures that more than one key or spelling can make. */
import assert from 'node:assert/strict';
import {
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify as verifySignature,
} from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SigningKey } from '../../src/manifest/key-store.js';
import { publicKeyFromObject } from '../../src/manifest/public-key.js';
import { normaliseSignature } from '../../src/manifest/signature.js';
import { verifyTrusted } from '../../src/manifest/verify-trusted.js';
import { made } from '../fixtures/public-key.js';
import { backDated, entry, options, scene, tryJudge, tryVerify } from './try-trust.js';
import { type Guard, importWithout } from './without-guard.js';

test('the policy calls an attacker’s key by the name of a trusted one', async (t) => {
  const at = await scene(t);
  const friend = made();
  // Who reads the policy sees the friend's fingerprint.
  const keys = [entry(at.signer.publicKey, { keyId: friend.keyId })];
  const asked = await options(at, []);
  await writeFile(asked.trust, JSON.stringify({ schemaVersion: 1, keys }));
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-file',
    guard: 'keyId !== entry.keyId',
    instead: 'false',
  });
  assert.equal(error.code, 'ERR_QUALIFY_TRUST_POLICY');
});

test('an envelope claims the name of a trusted key', async (t) => {
  const friend = made();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const own = publicKeyFromObject(publicKey, 'own');
  // Says in every place that it is the friend, and signs with its own.
  const liar: SigningKey = {
    name: 'liar',
    publicKey: { ...friend, pem: own.pem },
    sign: async (message) => sign(null, message, privateKey),
  };
  const at = await scene(t, liar);
  await cp(join(at.run, 'qualification.intoto.jsonl'), join(at.folder, 'copy'));
  await writeFile(join(at.run, 'key.pub.pem'), friend.pem);
  const asked = await options(at, [entry(friend)]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/signature',
    guard: 'if (signatureProblem(key, signature) !== null)',
    instead: 'if (signature.length === 64) return true; if (false)',
  });
  assert.match(error.message, /does not match its signature/);
});

test('a judge that believes names trusts whoever goes by one', async (t) => {
  const [friend, stranger] = [made(), made()];
  const question = backDated({ ...stranger, keyId: friend.keyId }, { issuedAt: null });
  await tryJudge(t, [entry(friend)], question, 'unknown-key', {
    guard: "parsePublicKey(entry.publicKey, 'the trust policy').pem === key.pem",
    instead: 'entry.keyId === key.keyId',
  });
});

test('a key of small order, under which anybody can sign, gets into the policy', async (t) => {
  const identity = Buffer.alloc(32);
  identity[0] = 1;
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), identity]);
  const object = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const unguarded: Guard = {
    module: 'manifest/public-key',
    guard: "algorithm === 'Ed25519' && isLowOrderPoint(raw)",
    instead: 'false',
  };
  const { publicKeyFromObject: load } = await importWithout<{
    publicKeyFromObject: typeof publicKeyFromObject;
  }>(t, 'manifest/public-key', unguarded);
  // R is the identity and S is 0: a signature of everything, made without any private key.
  const forger: SigningKey = {
    name: 'nobody',
    publicKey: load(object as KeyObject, 'identity'),
    sign: async () => Buffer.concat([identity, Buffer.alloc(32)]),
  };
  const at = await scene(t, forger);
  const asked = await options(at, [entry(forger.publicKey)]);
  const error = await tryVerify(t, at.run, asked, unguarded);
  assert.match(error.message, /small order/);
});

const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = publicKeyFromObject(p256.publicKey, 'p256');
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** Another signature of the same bytes, which takes no key to make. */
function turned(low: Buffer): Buffer {
  const integer = (value: bigint): Buffer => {
    const hex = value.toString(16);
    const even = hex.length % 2 === 1 ? `0${hex}` : hex;
    const bytes = Buffer.from(Number.parseInt(even.slice(0, 2), 16) > 127 ? `00${even}` : even, 'hex');
    return Buffer.concat([Buffer.from([2, bytes.length]), bytes]);
  };
  const rLength = low[3] ?? 0;
  const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  const [r, s] = [number(low.subarray(4, 4 + rLength)), number(low.subarray(6 + rLength))];
  const body = Buffer.concat([integer(r), integer(ORDER - s)]);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}

test('a second manifest is made of a first by turning s round, without the key', async (t) => {
  const honest: SigningKey = {
    ...{ name: 'p256', publicKey: key },
    sign: async (message) => normaliseSignature(key, sign('sha256', message, p256.privateKey)),
  };
  const low = await honest.sign(Buffer.from('x'));
  assert.equal(
    verifySignature('sha256', Buffer.from('x'), key.object, turned(low)),
    true,
    'OpenSSL takes both',
  );
  const at = await scene(t, honest);
  const asked = await options(at, [entry(key)]);
  await verifyTrusted(at.run, asked);
  const path = join(at.run, 'qualification.intoto.jsonl');
  const [first = '', second = ''] = (await readFile(path, 'utf8')).split('\n');
  const { signatures, ...rest } = JSON.parse(second);
  const sig = turned(Buffer.from(signatures[0].sig, 'base64')).toString('base64');
  await writeFile(
    path,
    `${first}\n${JSON.stringify({ ...rest, signatures: [{ ...signatures[0], sig }] })}\n`,
  );
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/signature',
    guard: 's > HALF',
    instead: 'false',
  });
  assert.match(error.message, /has the higher of the two values of s/);
});

test('a signer’s r and s one after the other are read as something else', async (t) => {
  // No forgery: a manifest that only some tools can check would be worth less than it says.
  const raw: SigningKey = {
    ...{ name: 'p256', publicKey: key },
    sign: async (message) => sign('sha256', message, { key: p256.privateKey, dsaEncoding: 'ieee-p1363' }),
  };
  const at = await scene(t, raw);
  const error = await tryVerify(
    t,
    at.run,
    await options(at, [entry(key)]),
    {
      module: 'manifest/signature',
      guard: 'if (signatureProblem(key, signature) !== null)',
      instead: 'if (false)',
    },
    {
      module: 'manifest/signature',
      guard: 'message, key.object, signature)',
      instead: "message, { key: key.object, dsaEncoding: 'ieee-p1363' }, signature)",
    },
  );
  assert.match(error.message, /IEEE P1363.*DER/);
});
