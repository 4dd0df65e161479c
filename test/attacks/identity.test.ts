/** Who signed: somebody else in the signer's name, a copy under another key, and keys under which anybody can sign. */
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { signEnvelope } from '../../src/manifest/envelope.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { signedFiles } from '../../src/manifest/manifest.js';
import { preAuthenticationEncoding } from '../../src/manifest/pae.js';
import { type PublicKey, publicKeyFromRaw } from '../../src/manifest/public-key.js';
import { serializeStatement } from '../../src/manifest/statement.js';
import { serializeTestResult, testResultOf } from '../../src/manifest/test-result.js';
import { sampleRun } from '../fuzz/sample-run.js';
import {
  attackTest,
  copyOf,
  KEY,
  linesOf,
  MANIFEST,
  refused,
  statementFollows,
  verifierWithout,
  writeLines,
} from './attack.js';
import { type Guard, importWithout } from './without-guard.js';

const victim = await sampleRun();
const { publicKey } = victim.key;
const { statement } = victim.sealed;
const thief = await generateKey('thief', join(victim.folder, 'thief'));
const asked = { key: publicKey.keyId };

const envelope = (guard: string, instead: string): Guard => ({ module: 'manifest/envelope', guard, instead });
const signature = envelope('if (!isSignedBy(', 'if (false && !isSignedBy(');
const nameOfKey = envelope('if (sealed.claimedKeyId !== key.keyId) {', 'if (false) {');
const travellingKey: Guard = {
  module: 'manifest/signer',
  guard: 'if (travelling && parseTravelling(travelling).keyId !== key.keyId)',
  instead: 'if (false)',
};
const originalSigner: Guard = {
  module: 'manifest/open-manifest',
  guard: 'if (named !== signer.key.keyId)',
  instead: 'if (false)',
};

/** The lines of the victim's statement, signed by the thief, who gives any name. */
async function stolenLines(name: string): Promise<string[]> {
  const payloads = [serializeStatement(statement), serializeTestResult(testResultOf(statement))];
  const lines = await Promise.all(payloads.map((payload) => signEnvelope(payload, thief)));
  return lines.map((line) => line.replace(thief.publicKey.keyId, name));
}

attackTest("a signature by another key in the signer's name", victim, {
  make: async (run) => writeLines(run, publicKey.keyId, ...(await stolenLines(publicKey.keyId))),
  guards: [signature],
  where: MANIFEST,
  why: /does not match its signature by SHA256:/,
  options: asked,
});

attackTest(
  'another name on a signature of the signer: a tool that believes names shows somebody else',
  victim,
  {
    make: (run) => {
      const [first, second] = linesOf(run);
      const renamed = [first, second].map((line) => line.replace(publicKey.keyId, thief.publicKey.keyId));
      writeLines(run, publicKey.keyId, ...renamed);
    },
    guards: [nameOfKey],
    where: MANIFEST,
    why: /names the key "SHA256:.*" but is signed by SHA256:/,
  },
);

attackTest('no name on a signature', victim, {
  make: (run) => {
    const unnamed = linesOf(run).map((line) => line.replace(publicKey.keyId, ''));
    writeLines(run, publicKey.keyId, ...unnamed);
  },
  guards: [nameOfKey],
  where: MANIFEST,
  why: /names the key "" but is signed by SHA256:/,
});

attackTest(
  "the key of another beside the signer's run: who trusts it on first use trusts the wrong one",
  victim,
  {
    make: (run) => writeFileSync(join(run, KEY), thief.publicKey.pem),
    guards: [travellingKey],
    where: KEY,
    why: /is not the signer's key/,
    options: { key: join(victim.folder, 'signer', 'signer.pub') },
  },
);

attackTest('a copy of the run under the key of another, who takes the credit', victim, {
  make: async (run) => {
    for (const [file, text] of Object.entries(await signedFiles(statement, thief)))
      writeFileSync(join(run, file), text);
    writeFileSync(join(run, KEY), thief.publicKey.pem);
  },
  // The statement names its signer, and is made again with the name of the key that verified.
  guards: [originalSigner, ...statementFollows],
  where: MANIFEST,
  why: /was made by SHA256:.* and signed again by SHA256:/,
});

/** RFC 8032 encodings of the points of small order, canonical and not, with either sign. */
const lowOrderKeys = [
  ...['00'.repeat(32), `01${'00'.repeat(31)}`],
  ...['ec', 'ed', 'ee'].map((first) => `${first}${'ff'.repeat(30)}7f`),
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].flatMap((hex) => {
  const positive = Buffer.from(hex, 'hex');
  const negative = Buffer.from(positive);
  negative[31] = (negative[31] ?? 0) | 0x80;
  return [positive, negative];
});
const lowOrder: Guard = {
  module: 'manifest/public-key',
  guard: "if (algorithm === 'Ed25519' && isLowOrderPoint(raw))",
  instead: 'if (false)',
};
const identity = Buffer.from(`01${'00'.repeat(31)}`, 'hex');
/** R is the neutral point and S is 0: under the neutral point as a key this verifies for every message. */
const everySignature = Buffer.concat([identity, Buffer.alloc(32)]).toString('base64');

test('a run that nobody signed, under a key of small order', async (context) => {
  const run = copyOf(victim, context);
  const { publicKeyFromRaw: lax } = await importWithout<typeof import('../../src/manifest/public-key.js')>(
    context,
    'manifest/public-key',
    lowOrder,
  );
  const weak = lax(identity, 'the identity');
  const forged = structuredClone(statement);
  forged.predicate.signer = weak.keyId;
  const lines = [serializeStatement(forged), serializeTestResult(testResultOf(forged))].map((payload) => {
    const signatures = [{ keyid: weak.keyId, sig: everySignature }];
    return `${JSON.stringify({ payload: payload.toString('base64'), payloadType: 'application/vnd.in-toto+json', signatures })}\n`;
  });
  writeLines(run, weak.keyId, ...lines);
  writeFileSync(join(run, KEY), weak.pem);
  const options = { keyFolder: join(victim.folder, 'no-keys') };
  await (await verifierWithout(context, [lowOrder])).verifyRun(run, options);
  await assert.rejects((await import('../../src/manifest/verify.js')).verifyRun(run, options), {
    code: 'ERR_QUALIFY_PUBLIC_KEY',
    exit: 'invalid',
    where: KEY,
    message: /is a point of small order/,
  });
});

test('each of the 14 encodings of a point of small order, all of which the runtime takes for keys', async (context) => {
  const { publicKeyFromRaw: lax } = await importWithout<typeof import('../../src/manifest/public-key.js')>(
    context,
    'manifest/public-key',
    lowOrder,
  );
  assert.equal(new Set(lowOrderKeys.map((raw) => raw.toString('hex'))).size, 14);
  let forgeable = 0;
  for (const raw of lowOrderKeys) {
    const key = lax(raw, 'x');
    // Of 64 messages, some verify under most of these keys with the signature above or with the key itself as R.
    const signatures = [identity, raw].map((r) => Buffer.concat([r, Buffer.alloc(32)]));
    const messages = Array.from({ length: 64 }, (_, at) => Buffer.from(`message ${at}`));
    if (messages.some((message) => signatures.some((sig) => verify(null, message, key.object, sig))))
      forgeable += 1;
    assert.throws(() => publicKeyFromRaw(raw, 'x.pub'), {
      exit: 'invalid',
      message: /is a point of small order/,
    });
  }
  assert.ok(forgeable >= 4, `${forgeable} of the keys can be forged for`);
});

/** Order of the group, little-endian. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const toInteger = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
const toBytes = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();

test('a second signature made of the first, without the key (S + L, malleability): the runtime is the guard', async (context) => {
  const run = copyOf(victim, context);
  const lines = linesOf(run).map((line) => {
    const parts = JSON.parse(line) as { payload: string; signatures: { keyid: string; sig: string }[] };
    const [entry] = parts.signatures;
    assert.ok(entry);
    const before = Buffer.from(entry.sig, 'base64');
    const s = toInteger(before.subarray(32)) + ORDER;
    assert.ok(s < 2n ** 256n);
    const after = Buffer.concat([before.subarray(0, 32), toBytes(s)]);
    const message = preAuthenticationEncoding(
      'application/vnd.in-toto+json',
      Buffer.from(parts.payload, 'base64'),
    );
    assert.ok(verify(null, message, victim.key.publicKey.object, before));
    // Equal in the group, so that only a comparison with L tells it from the first: RFC 8032, 5.1.7.
    assert.equal(toInteger(after.subarray(32)) % ORDER, toInteger(before.subarray(32)));
    assert.ok(!verify(null, message, victim.key.publicKey.object, after));
    entry.sig = after.toString('base64');
    return `${JSON.stringify(parts)}\n`;
  });
  writeLines(run, publicKey.keyId, ...lines);
  const options = { keyFolder: join(victim.folder, 'no-keys') };
  await (await verifierWithout(context, [signature])).verifyRun(run, options);
  await refused(run, options, MANIFEST, /does not match its signature/);
});

test('a key file that is another spelling of the key', async (context) => {
  const run = copyOf(victim, context);
  const wrapped = publicKey.pem.replace(/\n(.{20})/, '\n$1\n');
  assert.notEqual(wrapped, publicKey.pem);
  assert.ok(createPublicKey(wrapped).equals((publicKey satisfies PublicKey).object));
  writeFileSync(join(run, KEY), wrapped);
  const options = { keyFolder: join(victim.folder, 'no-keys') };
  const guard = {
    module: 'manifest/signer',
    guard: 'if (!Buffer.from(key.pem).equals(bytes))',
    instead: 'if (false)',
  };
  await (await verifierWithout(context, [guard])).verifyRun(run, options);
  await refused(run, options, KEY, /is not spelt as qualify writes it/);
});
