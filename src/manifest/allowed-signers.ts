/**
 * A trust policy as OpenSSH reads one (ALLOWED SIGNERS of ssh-keygen(1)), so that `ssh-keygen -Y verify` holds a manifest to the same
 * keys and windows. A principal is a role.
 */
import { parsePublicKey, sshLine } from './public-key.js';
import { SSH_NAMESPACE } from './ssh-signature.js';
import type { TrustedKey, TrustPolicy } from './trust-policy.js';

/** One line a key. A compromised key has none: OpenSSH knows no verifier that would vouch for what it signed before. */
export function formatAllowedSigners(policy: TrustPolicy): string {
  return policy.keys
    .filter(({ revoked }) => revoked?.reason !== 'compromised')
    .map((entry) => `${formatEntry(entry, policy.expires)}\n`)
    .join('');
}

function formatEntry(entry: TrustedKey, expires: string | undefined): string {
  const ends = [entry.notAfter, entry.revoked?.since, expires].filter((time) => time !== undefined);
  const end = ends.toSorted((one, other) => Date.parse(one) - Date.parse(other))[0];
  const options = [
    `namespaces="${SSH_NAMESPACE}"`,
    // OpenSSH counts seconds: the window is never made wider.
    ...(entry.notBefore === undefined ? [] : [`valid-after="${toSeconds(entry.notBefore, Math.ceil)}"`]),
    ...(end === undefined ? [] : [`valid-before="${toSeconds(end, Math.floor)}"`]),
  ];
  return `${entry.roles.join(',')} ${options.join(',')} ${sshLine(parsePublicKey(entry.publicKey, entry.keyId))}`;
}

/** `20261130120000Z`. */
function toSeconds(time: string, round: (value: number) => number): string {
  const whole = new Date(round(Date.parse(time) / 1000) * 1000);
  return `${whole.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`;
}
