/** Whether a key may say what it says, by the trust policy. */
import type { Role, TrustPolicy } from '../manifest/trust-policy.js';
import type { Reason } from './decision.js';

export interface Signed {
  keyId: string;
  role: Role;
  /** When it was signed, as far as the signer says. */
  signedAt: string;
  /** Of the machine whose run it is; null for what no machine measured. */
  machineId: string | null;
}

const reason = (code: string, message: string): Reason => ({ code, message });

/** Why the signature does not count at `now`, or null when it does. */
export function judgeSigner(trust: TrustPolicy, signed: Signed, now: string): Reason | null {
  const { keyId, role, machineId } = signed;
  const [at, today] = [Date.parse(signed.signedAt), Date.parse(now)];
  if (trust.expires !== undefined && today >= Date.parse(trust.expires))
    return reason('trust-expired', `the trust policy expired on ${trust.expires}: no key counts`);
  const key = trust.keys.find((candidate) => candidate.keyId === keyId);
  if (key === undefined) return reason('unknown-signer', `${keyId} is no key of the trust policy`);
  if (!key.roles.includes(role))
    return reason('wrong-role', `${keyId} has the role ${key.roles.join(', ')}, not ${role}`);
  if (machineId !== null && key.machines !== undefined && !key.machines.includes(machineId))
    return reason('wrong-machine-for-key', `${keyId} may not sign for the machine ${machineId.slice(0, 12)}`);
  if (key.notBefore !== undefined && at < Date.parse(key.notBefore))
    return reason('key-not-yet-valid', `${keyId} counts from ${key.notBefore} on`);
  if (key.notAfter !== undefined && at >= Date.parse(key.notAfter))
    return reason('key-expired', `${keyId} counted until ${key.notAfter}`);
  if (key.revoked === undefined) return null;
  const { since, reason: why } = key.revoked;
  if (why === 'compromised')
    return reason('key-compromised', `${keyId} is compromised since ${since}: whatever date it states`);
  return at >= Date.parse(since) ? reason('key-superseded', `${keyId} was superseded on ${since}`) : null;
}
