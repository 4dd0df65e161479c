/**
 * Ways to be trusted that nobody granted. Each is tried on the verifier, which must refuse it, and on the verifier without the guard that is
 * named, where it must succeed: else it would be no attack, or another guard would stop it.
 */
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
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import type { QualifyError } from '../../src/errors.js';
import { attest } from '../../src/manifest/attest.js';
import { generateKey, type SigningKey } from '../../src/manifest/key-store.js';
import { type PublicKey, publicKeyFromObject, sshLine } from '../../src/manifest/public-key.js';
import { seal } from '../../src/manifest/seal.js';
import { normaliseSignature } from '../../src/manifest/signature.js';
import { revokeKey } from '../../src/manifest/trust-edit.js';
import { formatTrustPolicy } from '../../src/manifest/trust-file.js';
import { judgeTrust, type TrustCode, type TrustQuestion } from '../../src/manifest/trust-judgement.js';
import type { TrustedKey, TrustPolicy } from '../../src/manifest/trust-policy.js';
import { runTrustQuestion } from '../../src/manifest/trust-run.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { type TrustOptions, verifyTrusted } from '../../src/manifest/verify-trusted.js';
import { makeChallenge, REVISIONS } from '../fixtures/challenge.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';
import { type Guard, importWithout } from './without-guard.js';

const NOW = new Date('2027-01-01T00:00:00Z');
const LONG_AGO = '2001-01-01T00:00:00Z';

interface Scene {
  folder: string;
  run: string;
  signer: SigningKey;
  verifier: SigningKey;
}

/** A run by `signer`, or by a key of the attack's own, and a verifier's key. */
async function scene(t: TestContext, by?: SigningKey): Promise<Scene> {
  const folder = await scratchFolder(t);
  const keys = join(folder, 'keys');
  const signer = by ?? (await generateKey('signer', keys));
  const run = join(folder, 'run');
  await writeRun(run);
  await seal(run, signer);
  return { folder, run, signer, verifier: await generateKey('verifier', keys) };
}

function keyInMemory(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    ...{ name: 'memory', publicKey: publicKeyFromObject(publicKey, 'memory') },
    sign: async (message) => sign(null, message, privateKey),
  };
}

const entry = ({ keyId, ...key }: PublicKey, change: Partial<TrustedKey> = {}): TrustedKey => ({
  ...{ keyId, publicKey: sshLine({ keyId, ...key }), roles: ['observer'] },
  ...change,
});

/** What a verifier is told: the policy of these entries, and files of summaries. */
async function options(
  { folder }: Scene,
  keys: TrustedKey[],
  attestations: string[] = [],
): Promise<TrustOptions> {
  const trust = join(folder, 'trust.json');
  const policy: TrustPolicy = { schemaVersion: 1, keys };
  await writeFile(trust, formatTrustPolicy(policy));
  return { trust, role: 'observer', attestations, now: NOW };
}

/** Tries an attack with the verifier, and without guards of it. Answers the refusal. */
async function tryVerify(
  t: TestContext,
  run: string,
  asked: TrustOptions,
  ...guards: Guard[]
): Promise<QualifyError> {
  const error = await refusal(verifyTrusted(run, asked));
  assert.notEqual(error.exitCode, 0);
  const unguarded = await importWithout<{ verifyTrusted: typeof verifyTrusted }>(
    t,
    'manifest/verify-trusted',
    ...guards,
  );
  await unguarded.verifyTrusted(run, asked);
  return error;
}

/** The same where only times and roles are at stake. */
async function tryJudge(
  t: TestContext,
  policy: TrustedKey[],
  question: TrustQuestion,
  code: TrustCode,
  guard: Omit<Guard, 'module'>,
): Promise<void> {
  const all: TrustPolicy = { schemaVersion: 1, keys: policy };
  const judgement = judgeTrust(all, question, NOW);
  assert.equal(judgement.trusted ? 'trusted' : judgement.code, code);
  const unguarded = await importWithout<{ judgeTrust: typeof judgeTrust }>(t, 'manifest/trust-judgement', {
    module: 'manifest/trust-judgement',
    ...guard,
  });
  assert.equal(unguarded.judgeTrust(all, question, NOW).trusted, true);
}

const untrusted = (error: QualifyError, code: TrustCode): void => {
  assert.equal(error.code, 'ERR_QUALIFY_UNTRUSTED');
  assert.ok(error.message.includes(`(${code})`), error.message);
};

test('a maintainer, who may waive, signs a run', async (t) => {
  const at = await scene(t);
  const asked = await options(at, [entry(at.signer.publicKey, { roles: ['maintainer', 'verifier'] })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: '!entry.roles.includes(question.role)',
    instead: 'false',
  });
  untrusted(error, 'wrong-role');
});

test('a key of one machine signs the run of another', async (t) => {
  const at = await scene(t);
  const asked = await options(at, [entry(at.signer.publicKey, { machines: ['7'.repeat(64)] })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: "role !== 'observer' || entry.machines === undefined",
    instead: 'true',
  });
  untrusted(error, 'wrong-machine');
});

test('a key signs after its window', async (t) => {
  const at = await scene(t);
  const asked = await options(at, [entry(at.signer.publicKey, { notAfter: LONG_AGO })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: 'Date.parse(signed) > end',
    instead: 'false',
  });
  untrusted(error, 'expired');
});

test('a stolen key goes on signing, with dates from before the theft', async (t) => {
  const at = await scene(t);
  const revoked = { since: '2026-12-31T00:00:00Z', reason: 'compromised' } as const;
  const asked = await options(at, [entry(at.signer.publicKey, { revoked })]);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: "if (revoked.reason === 'compromised') {",
    instead: 'if (false) {',
  });
  untrusted(error, 'revoked');
});

/** What is asked of a run by `key` that answers a challenge of 2026-06-10, and says that it ended before. */
const backDated = (key: PublicKey, change: Partial<TrustQuestion> = {}): TrustQuestion => ({
  ...{
    role: 'observer',
    key,
    machineId: null,
    startedAt: '2026-06-01T00:00:00Z',
    finishedAt: '2026-06-01T01:00:00Z',
  },
  ...{ issuedAt: '2026-06-10T00:00:00Z', manifestSha256: null, attestations: [] },
  ...change,
});
const made = (): PublicKey => publicKeyFromObject(generateKeyPairSync('ed25519').publicKey, 'made');

test('the run that answers a challenge says that it was made an hour before', async (t) => {
  const at = await scene(t);
  const run = join(at.folder, 'answer');
  const challenge = makeChallenge({}, { issuedAt: '2026-11-29T13:00:00.000Z' });
  await writeRun(run, { revisions: REVISIONS, challenge });
  await seal(run, at.signer);
  const asked = await options(at, [entry(at.signer.publicKey)]);
  // Two guards stop it: the replay, and where that is gone the judge.
  const replay: Guard = {
    module: 'manifest/replay-challenge',
    guard: 'startedAt < Date.parse(issuedAt)',
    instead: 'false',
  };
  const judge: Guard = {
    module: 'manifest/trust-judgement',
    guard: 'judgeClock(question, now) ??',
    instead: '',
  };
  const error = await tryVerify(t, run, asked, replay, judge);
  assert.match(error.message, /before its challenge was issued/);
  const judged = await importWithout<{ verifyTrusted: typeof verifyTrusted }>(
    t,
    'manifest/verify-trusted',
    replay,
  );
  await assert.rejects(judged.verifyTrusted(run, asked), /not trusted \(back-dated\)/);
});

test('a run is dated back to before its own challenge', async (t) => {
  const key = made();
  // The beginning alone is caught by a rule of its own.
  const question = backDated(key, { startedAt: '2026-06-09T23:59:00Z' });
  await tryJudge(t, [entry(key)], { ...question, finishedAt: '2026-06-09T23:59:30Z' }, 'back-dated', {
    guard: 'finishedAt !== null && Date.parse(finishedAt) < issued',
    instead: 'false',
  });
});

test('a run that was cut short is dated back to before its own challenge', async (t) => {
  const key = made();
  await tryJudge(t, [entry(key)], backDated(key, { finishedAt: null }), 'back-dated', {
    guard: 'Date.parse(startedAt) < issued - CLOCK_TOLERANCE_MS',
    instead: 'false',
  });
});

test('a superseded key answers a challenge of later, as of a minute before it was superseded', async (t) => {
  const key = made();
  // Within what clocks may part, so that only the challenge's time tells.
  const stated = '2026-06-09T23:59:00Z';
  const since = '2026-06-10T00:00:00Z';
  const question = backDated(key, { startedAt: stated, finishedAt: null });
  await tryJudge(t, [entry(key, { revoked: { since, reason: 'superseded' } })], question, 'revoked', {
    guard: 'question.issuedAt !== null && Date.parse(question.issuedAt) >= since',
    instead: 'false',
  });
});

test('an expired key answers a challenge of later, as of a minute before it expired', async (t) => {
  const key = made();
  const stated = '2026-06-09T23:59:00Z';
  const question = backDated(key, { startedAt: stated, finishedAt: null });
  await tryJudge(t, [entry(key, { notAfter: '2026-06-09T23:59:30Z' })], question, 'expired', {
    guard: 'question.issuedAt !== null && Date.parse(question.issuedAt) > end',
    instead: 'false',
  });
});

test('a session states an end before its beginning, to lie inside of the window', async (t) => {
  const key = made();
  const question = backDated(key, {
    issuedAt: null,
    startedAt: '2026-08-01T00:00:00Z',
    finishedAt: LONG_AGO,
  });
  await tryJudge(t, [entry(key, { notAfter: '2026-07-01T00:00:00Z' })], question, 'expired', {
    guard: 'Date.parse(finishedAt) >= Date.parse(startedAt)',
    instead: 'true',
  });
});

test('a run is dated ahead, to outlast a gate that counts days', async (t) => {
  const key = made();
  const question = backDated(key, { issuedAt: null, finishedAt: '2030-01-01T00:00:00Z' });
  await tryJudge(t, [entry(key)], question, 'future-dated', {
    guard: 'Date.parse(time) > latest',
    instead: 'false',
  });
});

const revoked = { since: '2026-12-31T00:00:00Z', reason: 'compromised' } as const;

/** A summary of a run, dated as the attacker likes. */
async function summary(at: Scene, run: string, key: SigningKey, date: string): Promise<string> {
  const path = join(at.folder, `summary-${key.publicKey.keyId.slice(7, 12)}.jsonl`.replaceAll('/', '_'));
  const verification = await verifyRun(run, { keyFolder: join(at.folder, 'none') });
  // Who forges does not keep to our rules: the run is held for somebody else's.
  const signer = { ...verification.signer, key: at.verifier.publicKey };
  const another = key === at.verifier ? verification : { ...verification, signer };
  const policy = { path: 'trust.json', bytes: Buffer.from('') };
  await attest({ path, runFolder: run, verification: another, policy, key, at: new Date(date) });
  return path;
}

test('a compromised key vouches for its own run, with an early date', async (t) => {
  const at = await scene(t);
  const path = await summary(at, at.run, at.signer, '2026-12-01T00:00:00Z');
  const roles: TrustedKey['roles'] = ['observer', 'verifier'];
  const asked = await options(at, [entry(at.signer.publicKey, { roles, revoked })], [path]);
  const error = await tryVerify(
    t,
    at.run,
    asked,
    { module: 'manifest/trust-judgement', guard: ' || key.pem === question.key.pem', instead: '' },
    // A compromised verifier vouches for nobody, itself included.
    {
      module: 'manifest/trust-judgement',
      guard: 'return judgeTrust(policy, asked, now).trusted',
      instead: 'return true',
    },
  );
  untrusted(error, 'revoked');
});

test('a summary by an observer, who verifies nothing, saves a compromised run', async (t) => {
  const at = await scene(t);
  const path = await summary(at, at.run, at.verifier, '2026-12-01T00:00:00Z');
  const asked = await options(
    at,
    [entry(at.signer.publicKey, { revoked }), entry(at.verifier.publicKey)],
    [path],
  );
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/trust-judgement',
    guard: 'return judgeTrust(policy, asked, now).trusted',
    instead: 'return true',
  });
  untrusted(error, 'revoked');
});

test('the summary of an honest run is shown for a forged one', async (t) => {
  const at = await scene(t);
  const path = await summary(at, at.run, at.verifier, '2026-12-01T00:00:00Z');
  const forged = join(at.folder, 'forged');
  await writeRun(forged, { headShare: () => 0.25 });
  await seal(forged, at.signer);
  const keys = [
    entry(at.signer.publicKey, { revoked }),
    entry(at.verifier.publicKey, { roles: ['verifier'] }),
  ];
  const asked = await options(at, keys, [path]);
  await verifyTrusted(at.run, asked);
  const error = await tryVerify(t, forged, asked, {
    module: 'manifest/trust-judgement',
    guard: 'manifestSha256 !== question.manifestSha256 || ',
    instead: '',
  });
  untrusted(error, 'revoked');
});

test('the same evidence, signed honestly by a stranger and attested, is signed again with the stolen key', async (t) => {
  const at = await scene(t, keyInMemory());
  const path = await summary(at, at.run, at.verifier, '2026-12-01T00:00:00Z');
  const stolen = await generateKey('stolen', join(at.folder, 'keys'));
  const forged = join(at.folder, 'forged');
  await writeRun(forged);
  await seal(forged, stolen);
  const index = (run: string) => readFile(join(run, 'evidence.sha256'), 'utf8');
  assert.equal(await index(forged), await index(at.run));
  const keys = [entry(stolen.publicKey, { revoked }), entry(at.verifier.publicKey, { roles: ['verifier'] })];
  const error = await tryVerify(t, forged, await options(at, keys, [path]), {
    module: 'manifest/trust-judgement',
    guard: 'manifestSha256 !== question.manifestSha256 || ',
    instead: '',
  });
  untrusted(error, 'revoked');
});

test('a summary is dated to before the run began, which nobody can have seen', async (t) => {
  const at = await scene(t);
  const path = await summary(at, at.run, at.verifier, '2026-11-29T11:59:59Z');
  const keys = [
    entry(at.signer.publicKey, { revoked }),
    entry(at.verifier.publicKey, { roles: ['verifier'] }),
  ];
  const error = await tryVerify(t, at.run, await options(at, keys, [path]), {
    module: 'manifest/trust-judgement',
    guard: 'Date.parse(timeVerified) < Date.parse(question.startedAt)',
    instead: 'false',
  });
  untrusted(error, 'revoked');
});

test('the date of a summary is moved to before the theft', async (t) => {
  const at = await scene(t);
  const path = await summary(at, at.run, at.verifier, '2026-12-31T12:00:00Z');
  const keys = [
    entry(at.signer.publicKey, { revoked }),
    entry(at.verifier.publicKey, { roles: ['verifier'] }),
  ];
  const asked = await options(at, keys, [path]);
  untrusted(await refusal(verifyTrusted(at.run, asked)), 'revoked');
  const envelope = JSON.parse(await readFile(path, 'utf8'));
  const body = Buffer.from(envelope.payload, 'base64').toString().replace('2026-12-31T12', '2026-12-30T12');
  const moved = { ...envelope, payload: Buffer.from(body).toString('base64') };
  await writeFile(path, `${JSON.stringify(moved)}\n`);
  const error = await tryVerify(t, at.run, asked, {
    module: 'manifest/signature',
    guard: 'if (signatureProblem(key, signature) !== null)',
    instead: "if (message.includes('verification_summary')) return true; if (false)",
  });
  assert.match(error.message, /line 1 does not match its signature/);
});

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

test('a superseded key is called compromised, but since later, so that a summary of meanwhile saves its runs', async (t) => {
  const key = made();
  const verifier = made();
  const since = { superseded: '2026-01-01T00:00:00Z', compromised: '2026-08-01T00:00:00Z' };
  const manifestSha256 = 'a'.repeat(64);
  const seen = {
    key: verifier,
    manifestSha256,
    policySha256: 'b'.repeat(64),
    timeVerified: '2026-07-01T00:00:00Z',
  };
  const question = backDated(key, { issuedAt: null, manifestSha256, attestations: [seen] });
  const revokedBy = (edit: typeof revokeKey): TrustPolicy => {
    const keys = [entry(key), entry(verifier, { roles: ['verifier'] })];
    const once = edit({ schemaVersion: 1, keys }, key.keyId, {
      since: since.superseded,
      reason: 'superseded',
    });
    return edit(once, key.keyId, { since: since.compromised, reason: 'compromised' });
  };
  const policy = revokedBy(revokeKey);
  assert.deepEqual(policy.keys[0]?.revoked, { since: since.superseded, reason: 'compromised' });
  assert.equal(judgeTrust(policy, question, NOW).trusted, false);
  const unguarded = await importWithout<{ revokeKey: typeof revokeKey }>(t, 'manifest/trust-edit', {
    module: 'manifest/trust-edit',
    guard: 'isLater ? before.since : revoked.since',
    instead: 'revoked.since',
  });
  assert.equal(judgeTrust(revokedBy(unguarded.revokeKey), question, NOW).trusted, true);
});

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = publicKeyFromObject(p256.publicKey, 'p256');

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

test('what is asked of a run is what its statement says, not what an archive is called', async (t) => {
  const at = await scene(t);
  const verification = await verifyRun(at.run, { keyFolder: join(at.folder, 'none') });
  const question = runTrustQuestion(verification);
  const { predicate } = verification.statement;
  assert.equal(question.machineId, predicate.machine.id);
  assert.equal(question.finishedAt, predicate.finishedAt);
  assert.equal(question.key.pem, at.signer.publicKey.pem);
  const manifest = await readFile(join(at.run, 'qualification.intoto.jsonl'));
  assert.equal(question.manifestSha256, sha256(manifest));
});
