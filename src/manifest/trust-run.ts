/** What a trust policy is asked about a run that has been verified. */
import { type PublicKey, parsePublicKey } from './public-key.js';
import type { Attestation, TrustJudgement, TrustQuestion } from './trust-judgement.js';
import type { Role, TrustPolicy } from './trust-policy.js';
import { untrusted } from './untrusted.js';
import type { Verification } from './verify.js';

/** The question whether the signer of a run may say so. `attestations` are what verifiers said of this or other runs. */
export function runTrustQuestion(
  { signer, statement, manifestSha256 }: Pick<Verification, 'signer' | 'statement' | 'manifestSha256'>,
  role: Role = 'observer',
  attestations: readonly Attestation[] = [],
): TrustQuestion {
  const { machine, startedAt, finishedAt, challenge } = statement.predicate;
  return {
    ...{ role, key: signer.key, machineId: machine.id, startedAt, finishedAt },
    ...{ issuedAt: challenge?.issuedAt ?? null, manifestSha256, attestations },
  };
}

/** The keys that a policy names, whatever they may do. */
export const policyKeys = (policy: TrustPolicy, file: string): PublicKey[] =>
  policy.keys.map(({ publicKey }) => parsePublicKey(publicKey, file));

/** What was found. `file` is the policy's. @throws ERR_QUALIFY_UNTRUSTED (exit 16) with the code and the reason */
export function requireTrust(
  judgement: TrustJudgement,
  file: string,
): Extract<TrustJudgement, { trusted: true }> {
  if (judgement.trusted) return judgement;
  throw untrusted(judgement.code, judgement.message, file);
}
