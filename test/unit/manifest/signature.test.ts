import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { publicKeyFromObject } from '../../../src/manifest/public-key.js';
import { isSignedBy, normaliseSignature, signatureProblem } from '../../../src/manifest/signature.js';
import { scratchFolder } from '../../support/folder.js';

const message = Buffer.from('a message');
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p256 = publicKeyFromObject(ec.publicKey, 'p256');
const ed = generateKeyPairSync('ed25519');
const ed25519 = publicKeyFromObject(ed.publicKey, 'ed25519');
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** A signature of node, until it is of the kind that is asked for. */
function signature(high: boolean): Buffer {
  for (;;) {
    const raw = sign('sha256', message, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' });
    if (numberOf(raw.subarray(32)) > ORDER / 2n === high) return der(raw.subarray(0, 32), raw.subarray(32));
  }
}

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
const bytesOf = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');

/** DER written independently: shortest positive integers. */
function der(r: Uint8Array, s: Uint8Array, pad = 0): Buffer {
  const integer = (bytes: Uint8Array): Buffer => {
    let body = Buffer.from(bytes);
    while (body.length > 1 && body[0] === 0 && (body[1] ?? 0) < 0x80) body = body.subarray(1);
    if ((body[0] ?? 0) >= 0x80) body = Buffer.concat([Buffer.alloc(1), body]);
    body = Buffer.concat([Buffer.alloc(pad), body]);
    return Buffer.concat([Buffer.from([2, body.length]), body]);
  };
  const body = Buffer.concat([integer(r), integer(s)]);
  return Buffer.concat([Buffer.from([0x30, body.length]), body]);
}

/** r and s of a DER signature, 32 bytes each. */
function parts(bytes: Buffer): [Buffer, Buffer] {
  const rLength = bytes[3] ?? 0;
  const [r, s] = [bytes.subarray(4, 4 + rLength), bytes.subarray(6 + rLength)];
  return [bytesOf(numberOf(r)), bytesOf(numberOf(s))];
}

test('takes a signature of either kind, and not of a key of the other kind', () => {
  const byEd = sign(null, message, ed.privateKey);
  assert.equal(isSignedBy(ed25519, message, byEd), true);
  assert.equal(isSignedBy(p256, message, signature(false)), true);
  assert.equal(isSignedBy(p256, message, byEd), false);
  assert.equal(isSignedBy(ed25519, message, signature(false)), false);
  assert.equal(isSignedBy(p256, Buffer.from('another'), signature(false)), false);
  assert.equal(isSignedBy(ed25519, Buffer.from('another'), byEd), false);
});

describe('ECDSA', () => {
  test('takes what openssl signs, and openssl takes what is normalised', async (context) => {
    const folder = await scratchFolder(context);
    const path = (name: string) => join(folder, name);
    await writeFile(path('key.pem'), ec.privateKey.export({ format: 'pem', type: 'pkcs8' }));
    await writeFile(path('pub.pem'), p256.pem);
    await writeFile(path('message'), message);
    for (let round = 0; round < 8; round += 1) {
      const raw = execFileSync('openssl', ['dgst', '-sha256', '-sign', path('key.pem'), path('message')]);
      const one = normaliseSignature(p256, raw);
      assert.equal(isSignedBy(p256, message, one), true);
      await writeFile(path('sig'), one);
      const args = [
        'dgst',
        '-sha256',
        '-verify',
        path('pub.pem'),
        '-signature',
        path('sig'),
        path('message'),
      ];
      assert.match(execFileSync('openssl', args, { encoding: 'utf8' }), /Verified OK/);
    }
  });

  test('refuses the higher s, which openssl takes, and lowers it when it signs', () => {
    const high = signature(true);
    assert.equal(verify('sha256', message, p256.object, high), true, 'it is a signature');
    assert.equal(isSignedBy(p256, message, high), false);
    assert.match(signatureProblem(p256, high) ?? '', /higher of the two values of s/);
    assert.equal(isSignedBy(p256, message, normaliseSignature(p256, high)), true);
    const low = signature(false);
    assert.deepEqual(normaliseSignature(p256, low), low);
  });

  test('refuses r and s one after the other, and names the encoding', () => {
    const raw = sign('sha256', message, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' });
    assert.match(signatureProblem(p256, raw) ?? '', /IEEE P1363.*DER/);
    assert.equal(isSignedBy(p256, message, raw), false);
  });

  test('refuses DER that is not the shortest, or has something around it', () => {
    const good = signature(false);
    const [r, s] = parts(good);
    assert.deepEqual(der(r, s), good);
    const long = Buffer.concat([Buffer.from([0x30, 0x81, good.length - 2]), good.subarray(2)]);
    const bad = {
      padded: der(r, s, 1),
      'long form of a length': long,
      'a byte after it': Buffer.concat([good, Buffer.alloc(1)]),
      'a byte cut off': good.subarray(0, -1),
      'another tag': Buffer.concat([Buffer.from([0x31]), good.subarray(1)]),
      nothing: Buffer.alloc(0),
      'one byte': Buffer.from([0x30]),
      'indefinite length': Buffer.concat([Buffer.from([0x30, 0x80]), good.subarray(2), Buffer.alloc(2)]),
    };
    for (const [what, bytes] of Object.entries(bad)) {
      assert.match(signatureProblem(p256, bytes) ?? '', /no ECDSA signature in DER/, what);
      assert.equal(isSignedBy(p256, message, bytes), false, what);
    }
  });

  test('refuses an r or s that is 0, negative, or beyond the order', () => {
    const [r, s] = parts(signature(false));
    const zero = bytesOf(0n);
    for (const [one, other] of [
      [zero, s],
      [r, zero],
      [zero, zero],
      [bytesOf(ORDER), s],
      [r, bytesOf(ORDER)],
      [r, bytesOf(ORDER + 1n)],
    ] as const) {
      assert.match(signatureProblem(p256, der(one, other)) ?? '', /outside of the order/);
    }
    const negative = Buffer.from('3006020181020101', 'hex');
    assert.match(signatureProblem(p256, negative) ?? '', /no ECDSA signature in DER/);
  });

  test('never throws, whatever the bytes', () => {
    const good = signature(false);
    for (let at = 0; at < good.length; at += 1) {
      for (const flip of [1, 0x80, 0xff]) {
        const bytes = Buffer.from(good);
        bytes[at] = (bytes[at] ?? 0) ^ flip;
        assert.equal(isSignedBy(p256, message, bytes), false);
        assert.equal(isSignedBy(p256, message, normaliseSignature(p256, bytes)), false);
        assert.equal(isSignedBy(ed25519, message, bytes), false);
      }
    }
  });
});
