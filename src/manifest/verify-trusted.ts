/** Verifies a run and holds its signer to a trust policy: a key of the policy, in its role, on its machine, at its time. */
import { sha256 } from '../digest.js';
import { readAttestations } from './attestations.js';
import type { IssuedChallenge } from './confirm-challenge.js';
import { parseTrustPolicy, readTrustBytes } from './trust-file.js';
import { judgeTrust } from './trust-judgement.js';
import type { Role, TrustedKey, TrustPolicy } from './trust-policy.js';
import { policyKeys, requireTrust, runTrustQuestion } from './trust-run.js';
import { type Check, type Verification, verifyRun } from './verify.js';

export interface TrustOptions {
  /** The policy's file, as the user names it. */
  trust: string;
  role: Role;
  /** Files with summaries of verifiers. */
  attestations: readonly string[];
  now: Date;
  /** The run must answer this challenge too. */
  challenge?: IssuedChallenge | undefined;
  /** Called after each check that the run stood up to. */
  onCheck?: (check: Check) => void;
}

/** A run that holds, by a signer whom a policy trusts. */
export interface TrustedVerification extends Verification {
  trust: { path: string; bytes: Buffer; sha256: string; policy: TrustPolicy; role: Role; entry: TrustedKey };
}

/** @throws ERR_QUALIFY_UNTRUSTED (exit 16) with the reason, and what reading a policy, summaries and a run throws */
export async function verifyTrusted(runFolder: string, options: TrustOptions): Promise<TrustedVerification> {
  const { trust: path, role, now, challenge, onCheck } = options;
  const bytes = await readTrustBytes(path);
  const policy = parseTrustPolicy(bytes, path);
  const keys = policyKeys(policy, path);
  const attestations = await readAttestations(options.attestations, keys);
  const verification = await verifyRun(runFolder, {
    among: { keys, file: path },
    ...(challenge && { challenge }),
    ...(onCheck && { onCheck }),
  });
  const question = runTrustQuestion(verification, role, attestations);
  const { entry, found } = requireTrust(judgeTrust(policy, question, now), path);
  const checks = [...verification.checks, { name: 'trust', found }];
  const trust = { path, bytes, sha256: sha256(bytes), policy, role, entry };
  return { ...verification, checks, trust };
}
