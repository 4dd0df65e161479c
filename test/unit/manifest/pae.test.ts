import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { preAuthenticationEncoding } from '../../../src/manifest/pae.js';

const type = 'http://example.com/HelloWorld';

test('encodes the example of the DSSE protocol', () => {
  const encoded = preAuthenticationEncoding(type, Buffer.from('hello world'));
  assert.equal(encoded.toString(), 'DSSEv1 29 http://example.com/HelloWorld 11 hello world');
});

test('verifies the signature of the DSSE protocol text', () => {
  // ECDSA P-256, raw r||s: the numbers are those of protocol.md of secure-systems-lab/dsse.
  const x = 46950820868899156662930047687818585632848591499744589407958293238635476079160n;
  const y = 5640078356564379163099075877009565129882514886557779369047442380624545832820n;
  const coordinate = (value: bigint) =>
    Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toString('base64url');
  const key = createPublicKey({
    key: { kty: 'EC', crv: 'P-256', x: coordinate(x), y: coordinate(y) },
    format: 'jwk',
  });
  const signature =
    'A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA==';
  const encoded = preAuthenticationEncoding(type, Buffer.from('hello world'));
  const asked = { key, dsaEncoding: 'ieee-p1363' } as const;
  assert.equal(verify('sha256', encoded, asked, Buffer.from(signature, 'base64')), true);
});

test('counts bytes, not characters', () => {
  assert.equal(preAuthenticationEncoding('š', Buffer.from('é')).toString(), 'DSSEv1 2 š 2 é');
});

test('encodes an empty body', () => {
  assert.equal(preAuthenticationEncoding('t', new Uint8Array()).toString(), 'DSSEv1 1 t 0 ');
});

test('keeps binary bodies as they are', () => {
  const body = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  assert.deepEqual(preAuthenticationEncoding('t', body).subarray(-256), Buffer.from(body));
});

test('takes a view into a larger buffer by its own bounds', () => {
  const whole = Buffer.from('xxhello worldxx');
  assert.deepEqual(
    preAuthenticationEncoding(type, new Uint8Array(whole.buffer, whole.byteOffset + 2, 11)),
    preAuthenticationEncoding(type, Buffer.from('hello world')),
  );
});

test('does not let two types collide (CVE-2026-48758)', () => {
  const body = Buffer.from('{}');
  assert.notDeepEqual(preAuthenticationEncoding('Š', body), preAuthenticationEncoding('`', body));
  assert.notDeepEqual(preAuthenticationEncoding('š', body), preAuthenticationEncoding('a', body));
});
