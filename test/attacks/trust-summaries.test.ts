/** Summaries of verification that would save the run of a compromised key. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { attest } from '../../src/manifest/attest.js';
import { MANIFEST_FILE } from '../../src/manifest/evidence-index.js';
import { generateKey, type SigningKey } from '../../src/manifest/key-store.js';
import { publicKeyFromObject } from '../../src/manifest/public-key.js';
import { seal } from '../../src/manifest/seal.js';
import { revokeKey } from '../../src/manifest/trust-edit.js';
import { judgeTrust } from '../../src/manifest/trust-judgement.js';
import type { TrustedKey, TrustPolicy } from '../../src/manifest/trust-policy.js';
import { verifyRun } from '../../src/manifest/verify.js';
import { verifyTrusted } from '../../src/manifest/verify-trusted.js';
import { made } from '../fixtures/public-key.js';
import { writeRun } from '../fixtures/run-folder.js';
import { refusal } from '../support/refusal.js';
import { backDated, entry, NOW, options, type Scene, scene, tryVerify, untrusted } from './try-trust.js';
import { importWithout } from './without-guard.js';

function keyInMemory(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    ...{ name: 'memory', publicKey: publicKeyFromObject(publicKey, 'memory') },
    sign: async (message) => sign(null, message, privateKey),
  };
}

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

test('a forged manifest is put in the place of the honest one between its verification and the summary', async (t) => {
  const at = await scene(t);
  const forged = join(at.folder, 'forged');
  await writeRun(forged, { headShare: () => 0.25 });
  await seal(forged, at.signer);
  const verification = await verifyRun(at.run, { keyFolder: join(at.folder, 'none') });
  await writeFile(join(at.run, MANIFEST_FILE), await readFile(join(forged, MANIFEST_FILE)));
  const keys = [
    entry(at.signer.publicKey, { revoked }),
    entry(at.verifier.publicKey, { roles: ['verifier'] }),
  ];
  /** What the summary that `write` makes is worth to the forged run. */
  const shown = async (write: typeof attest, name: string) => {
    const path = join(at.folder, name);
    const policy = { path: 'trust.json', bytes: Buffer.from('') };
    const date = new Date('2026-12-01T00:00:00Z');
    await write({ path, runFolder: at.run, verification, policy, key: at.verifier, at: date });
    return verifyTrusted(forged, await options(at, keys, [path]));
  };
  untrusted(await refusal(shown(attest, 'summary.jsonl')), 'revoked');
  const unguarded = await importWithout<{ attest: typeof attest }>(t, 'manifest/attest', {
    module: 'manifest/attest',
    guard: 'manifestSha256: verification.manifestSha256',
    instead: `manifestSha256: sha256((await import('node:fs')).readFileSync(runFolder + '/${MANIFEST_FILE}'))`,
  });
  await shown(unguarded.attest, 'read-again.jsonl');
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
