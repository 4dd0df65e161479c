/** Whether a key may say what it says, by the trust policy; in the gate's words, which tell a key's reasons from those of runs and waivers. */
import { parsePublicKey } from '../manifest/public-key.js';
import { judgeTrust, type TrustCode } from '../manifest/trust-judgement.js';
import type { Role, TrustedKey, TrustPolicy } from '../manifest/trust-policy.js';
import type { Reason } from './decision.js';

export interface Signed {
  keyId: string;
  role: Role;
  /** When, as far as the signer says; `finishedAt` is null for a session that was cut short. */
  startedAt: string;
  finishedAt: string | null;
  /** Of the challenge that is answered; null without one. */
  issuedAt: string | null;
  /** Of the machine whose run it is; null for what no machine measured. */
  machineId: string | null;
}

const CODES: Readonly<Record<Exclude<TrustCode, 'revoked'>, string>> = {
  'policy-expired': 'trust-expired',
  'unknown-key': 'unknown-signer',
  'wrong-role': 'wrong-role',
  'wrong-machine': 'wrong-machine-for-key',
  'future-dated': 'future-dated',
  'back-dated': 'back-dated',
  'not-yet-valid': 'key-not-yet-valid',
  expired: 'key-expired',
};

/** Why the signature, which has been checked, does not count at `now`; null when it does. */
export function judgeSigner(trust: TrustPolicy, { keyId, ...signed }: Signed, now: string): Reason | null {
  const entry = trust.keys.find((candidate) => candidate.keyId === keyId);
  if (entry === undefined)
    return { code: CODES['unknown-key'], message: `${keyId} is no key of the trust policy` };
  const key = parsePublicKey(entry.publicKey, 'the trust policy');
  // No summary of a verifier is read here: what a compromised key signed counts for no gate.
  const question = { ...signed, key, evidenceSha256: null, attestations: [] };
  const judgement = judgeTrust(trust, question, new Date(now));
  if (judgement.trusted) return null;
  return { code: codeOf(judgement.code, entry), message: judgement.message };
}

/** `key-superseded` or `key-compromised` for what is revoked. */
const codeOf = (code: TrustCode, { revoked }: TrustedKey): string =>
  code === 'revoked' ? `key-${revoked?.reason ?? 'revoked'}` : CODES[code];
