import assert from 'node:assert/strict';
import { type KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import {
  openEnvelope,
  PAYLOAD_TYPE,
  readEnvelope as readAt,
  signEnvelope,
} from '../../../src/manifest/envelope.js';
import { generateKey, type OwnKey } from '../../../src/manifest/key-store.js';
import { preAuthenticationEncoding } from '../../../src/manifest/pae.js';
import { scratchFolder } from '../../support/folder.js';

const payload = Buffer.from('{"a":1}');

interface Parts {
  payload: string;
  payloadType: string;
  signatures: { keyid: string; sig: string }[];
}

/** An envelope made by hand, spelt as ours, over any type and body. */
function envelope(key: OwnKey, change: (parts: Parts) => void, type = PAYLOAD_TYPE): Buffer {
  const parts: Parts = {
    payload: payload.toString('base64'),
    payloadType: type,
    signatures: [{ keyid: key.publicKey.keyId, sig: signature(key.privateKey, type).toString('base64') }],
  };
  change(parts);
  return Buffer.from(`${JSON.stringify(parts)}\n`);
}

const signature = (key: KeyObject, type: string) => sign(null, preAuthenticationEncoding(type, payload), key);

const readEnvelope = (bytes: Uint8Array) => readAt(bytes, { file: 'some.jsonl' });

const keyFor = async (...[context]: Parameters<typeof scratchFolder>) =>
  generateKey('k', await scratchFolder(context));

const wrongKey = (): QualifyError =>
  new QualifyError('ERR_QUALIFY_INVALID', 'another key', { exit: 'invalid' });

test('opens what it signed', async (context) => {
  const key = await keyFor(context);
  const text = await signEnvelope(payload, key);
  assert.deepEqual(openEnvelope(readEnvelope(Buffer.from(text)), key.publicKey, wrongKey), payload);
  assert.equal(text, envelope(key, () => {}).toString());
});

test('refuses another payload type, though it is signed (CVE-2022-35929)', async (context) => {
  const key = await keyFor(context);
  for (const type of ['text/plain', 'application/vnd.in-toto.x+json', 'application/vnd.in-toto+jsoŮ', '']) {
    assert.throws(() => readEnvelope(envelope(key, () => {}, type)), /payload type/, type);
  }
});

test('refuses a signature over another type than the envelope names', async (context) => {
  const key = await keyFor(context);
  const bytes = envelope(key, (parts) => {
    parts.signatures = [
      { keyid: key.publicKey.keyId, sig: signature(key.privateKey, 'text/plain').toString('base64') },
    ];
  });
  assert.throws(
    () => openEnvelope(readEnvelope(bytes), key.publicKey, wrongKey),
    /does not match its signature|another key/,
  );
});

test('refuses a signature over the bare payload', async (context) => {
  const key = await keyFor(context);
  const bytes = envelope(key, (parts) => {
    parts.signatures = [
      { keyid: key.publicKey.keyId, sig: sign(null, payload, key.privateKey).toString('base64') },
    ];
  });
  assert.throws(
    () => openEnvelope(readEnvelope(bytes), key.publicKey, wrongKey),
    /does not match its signature|another key/,
  );
});

for (const [what, spell] of [
  ['without padding', (text: string) => text.replace(/=+$/, '')],
  ['with URL-safe letters', (text: string) => Buffer.from(text, 'base64').toString('base64url')],
  ['with a space', (text: string) => ` ${text}`],
  [
    'with non-zero trailing bits',
    (text: string) => text.replace(/.==$/, (end) => `${end[0] === 'A' ? 'B' : 'f'}==`),
  ],
] as const) {
  test(`refuses a signature ${what}`, async (context) => {
    const key = await keyFor(context);
    const bytes = envelope(key, (parts) => {
      for (const entry of parts.signatures) entry.sig = spell(entry.sig);
    });
    assert.throws(() => readEnvelope(bytes), /padded base64/);
  });
}

test('refuses a payload in lax base64', async (context) => {
  const key = await keyFor(context);
  const bytes = envelope(key, (parts) => {
    parts.payload = parts.payload.replace(/=+$/, '');
  });
  assert.throws(() => readEnvelope(bytes), /payload that is not standard padded base64/);
});

test('refuses a signature of another length', async (context) => {
  const key = await keyFor(context);
  for (const length of [0, 63, 65]) {
    const bytes = envelope(key, (parts) => {
      for (const entry of parts.signatures) entry.sig = Buffer.alloc(length).toString('base64');
    });
    assert.throws(
      () => openEnvelope(readEnvelope(bytes), key.publicKey, wrongKey),
      new RegExp(`has a signature that is ${length} bytes long, not the 64 of Ed25519`),
    );
  }
});

test('refuses no signature and two signatures', async (context) => {
  const key = await keyFor(context);
  const none = envelope(key, (parts) => parts.signatures.pop());
  const two = envelope(key, (parts) => parts.signatures.push(...parts.signatures));
  assert.throws(() => readEnvelope(none), /no DSSE envelope/);
  assert.throws(() => readEnvelope(two), /no DSSE envelope/);
});

test('refuses a key name that is not that of the key', async (context) => {
  const key = await keyFor(context);
  for (const keyid of ['', 'SHA256:AAAA', `${key.publicKey.keyId}=`]) {
    const bytes = envelope(key, (parts) => {
      for (const entry of parts.signatures) entry.keyid = keyid;
    });
    assert.throws(() => openEnvelope(readEnvelope(bytes), key.publicKey, wrongKey), /names the key/);
  }
});

test('refuses unknown fields', async (context) => {
  const key = await keyFor(context);
  assert.throws(() => readEnvelope(envelope(key, (parts) => Object.assign(parts, { extra: 1 }))), /extra/);
  const inside = envelope(key, (parts) => Object.assign(parts.signatures[0] ?? {}, { extra: 1 }));
  assert.throws(() => readEnvelope(inside), /extra/);
});

test('refuses a second payload under the same name', async (context) => {
  const key = await keyFor(context);
  const text = envelope(key, () => {}).toString();
  const twice = text.replace('{', '{"payload":"e30=",');
  assert.throws(() => readEnvelope(Buffer.from(twice)), /the key "payload" twice/);
});

test('refuses another spelling of the same envelope', async (context) => {
  const key = await keyFor(context);
  const text = envelope(key, () => {}).toString();
  const { payload: body, payloadType, signatures } = JSON.parse(text);
  for (const other of [
    text.trimEnd(),
    `${JSON.stringify(JSON.parse(text), null, 2)}\n`,
    `${text.trimEnd()}\r\n`,
    text.replace(':', ': '),
    text.replace('payloadType', 'payload\\u0054ype'),
  ]) {
    assert.throws(() => readEnvelope(Buffer.from(other)), /not spelt/);
  }
  const reordered = `${JSON.stringify({ payloadType, payload: body, signatures })}\n`;
  assert.throws(() => readEnvelope(Buffer.from(reordered)), /not spelt/);
});

test('refuses a signature whose S was raised by the group order', async (context) => {
  const key = await keyFor(context);
  const L = 2n ** 252n + 27742317777372353535851937790883648493n;
  const genuine = signature(key.privateKey, PAYLOAD_TYPE);
  const s = BigInt(`0x${Buffer.from(genuine.subarray(32)).reverse().toString('hex')}`) + L;
  const raised = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  const bytes = envelope(key, (parts) => {
    for (const entry of parts.signatures)
      entry.sig = Buffer.concat([genuine.subarray(0, 32), raised]).toString('base64');
  });
  assert.throws(
    () => openEnvelope(readEnvelope(bytes), key.publicKey, wrongKey),
    /does not match its signature|another key/,
  );
});
