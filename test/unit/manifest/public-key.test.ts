import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isLowOrderPoint } from '../../../src/manifest/low-order-points.js';
import {
  parsePublicKey,
  publicKeyFromObject,
  publicKeyFromRaw,
  sshLine,
} from '../../../src/manifest/public-key.js';
import { readPublicKey } from '../../../src/manifest/public-key-file.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

const SPKI_PREFIX = '302a300506032b6570032100';
const P = 2n ** 255n - 19n;

/** 32 bytes, little-endian. */
function littleEndian(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
}

/** The 14 encodings of points of small order: seven y, each with either sign bit. */
function lowOrderEncodings(): Buffer[] {
  const eight = [
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ].map((hex) => BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`));
  const ys = [0n, 1n, P - 1n, P, P + 1n, ...eight];
  return ys.flatMap((y) => [littleEndian(y), littleEndian(y + 2n ** 255n)]);
}

test('names a key as ssh-keygen does', async (context) => {
  const folder = await scratchFolder(context);
  for (let round = 0; round < 3; round += 1) {
    const key = publicKeyFromObject(generateKeyPairSync('ed25519').publicKey, 'generated');
    const path = join(folder, `${round}.pub`);
    await writeFile(path, `${sshLine(key, 'a comment')}\n`);
    const printed = execFileSync('ssh-keygen', ['-lf', path], { encoding: 'utf8' });
    assert.equal(printed, `256 ${key.keyId} a comment (ED25519)\n`);
  }
});

test('reads the PEM and the OpenSSH line of one key as the same key', () => {
  const key = publicKeyFromObject(generateKeyPairSync('ed25519').privateKey, 'generated');
  assert.equal(parsePublicKey(key.pem, 'pem').keyId, key.keyId);
  assert.equal(parsePublicKey(`${sshLine(key, 'c')}\n`, 'ssh').pem, key.pem);
});

test('refuses all 14 encodings of points of small order', () => {
  const encodings = lowOrderEncodings();
  assert.equal(new Set(encodings.map((bytes) => bytes.toString('hex'))).size, 14);
  for (const raw of encodings) {
    assert.throws(() => publicKeyFromRaw(raw, 'evil.pub'), /small order/);
    const pem = createPublicKey({
      key: Buffer.concat([Buffer.from(SPKI_PREFIX, 'hex'), raw]),
      format: 'der',
      type: 'spki',
    }).export({ format: 'pem', type: 'spki' });
    assert.throws(() => parsePublicKey(pem.toString(), 'evil.pem'), /evil\.pem is a point of small order/);
  }
});

test('refuses them for a reason: without the list, the identity verifies a forged signature', () => {
  const identity = littleEndian(1n);
  const object = createPublicKey({
    key: Buffer.concat([Buffer.from(SPKI_PREFIX, 'hex'), identity]),
    format: 'der',
    type: 'spki',
  });
  // R = identity and S = 0 satisfy S*B = R + k*A for every message when A is the identity.
  const forged = Buffer.concat([identity, Buffer.alloc(32)]);
  assert.equal(verify(null, Buffer.from('any message'), object, forged), true);
});

test('takes ordinary keys', () => {
  const raw = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  assert.equal(isLowOrderPoint(raw), false);
});

test('names a P-256 key as ssh-keygen does, from PEM and from its line', async (context) => {
  const folder = await scratchFolder(context);
  for (let round = 0; round < 3; round += 1) {
    const key = publicKeyFromObject(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, 'made');
    assert.equal(key.algorithm, 'ECDSA P-256');
    const path = join(folder, `${round}.pub`);
    await writeFile(path, `${sshLine(key, 'a comment')}\n`);
    const printed = execFileSync('ssh-keygen', ['-lf', path], { encoding: 'utf8' });
    assert.equal(printed, `256 ${key.keyId} a comment (ECDSA)\n`);
    assert.equal(parsePublicKey(sshLine(key), 'ssh').pem, key.pem);
    assert.equal(parsePublicKey(key.pem, 'pem').keyId, key.keyId);
    const exported = execFileSync('ssh-keygen', ['-e', '-m', 'PKCS8', '-f', path], { encoding: 'utf8' });
    assert.equal(parsePublicKey(exported, 'exported').pem, key.pem);
  }
});

test('gives a point that is written compressed the same name', () => {
  const made = publicKeyFromObject(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, 'made');
  const args = ['ec', '-pubin', '-conv_form', 'compressed'];
  const compressed = execFileSync('openssl', args, { input: made.pem, encoding: 'utf8', stdio: 'pipe' });
  assert.notEqual(compressed, made.pem);
  assert.deepEqual(parsePublicKey(compressed, 'compressed').keyId, made.keyId);
  assert.equal(parsePublicKey(compressed, 'compressed').pem, made.pem);
});

test('refuses a point that is not on the curve, and the point at infinity', () => {
  const made = publicKeyFromObject(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, 'made');
  const raw = made.object.export({ format: 'der', type: 'spki' }).subarray(-65);
  raw[64] = (raw[64] ?? 0) ^ 1;
  for (const point of [raw, Buffer.concat([Buffer.from([4]), Buffer.alloc(64)]), Buffer.alloc(65)]) {
    assert.throws(() => publicKeyFromRaw(point, 'evil', 'ECDSA P-256'), /evil is no point of the curve/);
  }
});

test('refuses other kinds of key by name', () => {
  const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'spki' }).toString();
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
  assert.throws(() => parsePublicKey(pem(p384), 'k'), /k is a ec secp384r1 key; only Ed25519 and ECDSA/);
  const k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey;
  assert.throws(() => parsePublicKey(pem(k1), 'k'), /k is a ec secp256k1 key/);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
  assert.throws(() => parsePublicKey(pem(rsa), 'k'), /k is a rsa key/);
  assert.throws(() => parsePublicKey('ssh-rsa AAAA c', 'k'), /neither an SPKI PEM/);
});

test('refuses text that is no key', () => {
  assert.throws(() => parsePublicKey('hello', 'k'), /neither an SPKI PEM/);
  assert.throws(() => parsePublicKey('-----BEGIN PUBLIC KEY-----\nAAAA\n', 'k'), /does not parse/);
});

test('refuses an OpenSSH line whose blob is cut, lengthened or of another type', () => {
  const key = publicKeyFromObject(generateKeyPairSync('ed25519').publicKey, 'generated');
  const [type, text = ''] = sshLine(key, 'c').split(' ');
  const blob = Buffer.from(text, 'base64');
  const other = Buffer.from(blob);
  other[4] = 0x78;
  for (const bad of [blob.subarray(0, -1), Buffer.concat([blob, Buffer.alloc(1)]), other, Buffer.alloc(0)]) {
    assert.throws(
      () => parsePublicKey(`${type} ${bad.toString('base64')} c`, 'k'),
      /well-formed|holds 31 bytes|33 bytes/,
    );
  }
});

test('a fingerprint that is cut short is told as that, and not as a file that is missing', async () => {
  const { code, message } = await refusal(readPublicKey('SHA256:cut'));
  assert.equal(code, 'ERR_QUALIFY_KEY_FILE');
  assert.match(message, /^SHA256:cut is neither a fingerprint/);
});
