/**
 * Ways to be trusted that nobody granted. Each is tried on the verifier, which must refuse it, and on the verifier without the guard that is
 * named, where it must succeed: else it would be no attack, or another guard would stop it.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { QualifyError } from '../../src/errors.js';
import { generateKey, type SigningKey } from '../../src/manifest/key-store.js';
import { type PublicKey, sshLine } from '../../src/manifest/public-key.js';
import { seal } from '../../src/manifest/seal.js';
import { formatTrustPolicy } from '../../src/manifest/trust-file.js';
import { judgeTrust, type TrustCode, type TrustQuestion } from '../../src/manifest/trust-judgement.js';
import type { TrustedKey, TrustPolicy } from '../../src/manifest/trust-policy.js';
import { type TrustOptions, verifyTrusted } from '../../src/manifest/verify-trusted.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';
import { type Guard, importWithout } from './without-guard.js';

/** When the verifier is asked. */
export const NOW = new Date('2027-01-01T00:00:00Z');
/** Before anything else here. */
export const LONG_AGO = '2001-01-01T00:00:00Z';

/** A sealed run, the key that signed it, and one of a verifier. */
export interface Scene {
  folder: string;
  run: string;
  signer: SigningKey;
  verifier: SigningKey;
}

/** A run by `signer`, or by a key of the attack's own, and a verifier's key. */
export async function scene(t: TestContext, by?: SigningKey): Promise<Scene> {
  const folder = await scratchFolder(t);
  const keys = join(folder, 'keys');
  const signer = by ?? (await generateKey('signer', keys));
  const run = join(folder, 'run');
  await writeRun(run);
  await seal(run, signer);
  return { folder, run, signer, verifier: await generateKey('verifier', keys) };
}

/** The entry of a key in a policy: an observer, but for what is changed. */
export const entry = ({ keyId, ...key }: PublicKey, change: Partial<TrustedKey> = {}): TrustedKey => ({
  ...{ keyId, publicKey: sshLine({ keyId, ...key }), roles: ['observer'] },
  ...change,
});

/** What a verifier is told: the policy of these entries, and files of summaries. */
export async function options(
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
export async function tryVerify(
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
export async function tryJudge(
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

/** Asserts that the refusal is of trust, for this reason. */
export const untrusted = (error: QualifyError, code: TrustCode): void => {
  assert.equal(error.code, 'ERR_QUALIFY_UNTRUSTED');
  assert.ok(error.message.includes(`(${code})`), error.message);
};

/** What is asked of a run by `key` that answers a challenge of 2026-06-10, and says that it ended before. */
export const backDated = (key: PublicKey, change: Partial<TrustQuestion> = {}): TrustQuestion => ({
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
