/** Changes to a trust policy, as pure functions. A revocation is only ever made stricter, and no edit takes one back. */
import { QualifyError } from '../errors.js';
import { type PublicKey, sshLine } from './public-key.js';
import type { Role, TrustedKey, TrustPolicy } from './trust-policy.js';

export const EMPTY_POLICY: TrustPolicy = { schemaVersion: 1, keys: [] };

type Revocation = NonNullable<TrustedKey['revoked']>;

/** What an entry may say beside its key. */
interface Grant {
  roles: readonly Role[];
  machines?: readonly string[] | undefined;
  notBefore?: string | undefined;
  notAfter?: string | undefined;
}

/** An entry, with its fields in the order of the schema. */
export function trustEntry(key: PublicKey, { roles, machines, notBefore, notAfter }: Grant): TrustedKey {
  return {
    keyId: key.keyId,
    publicKey: sshLine(key),
    roles: [...roles],
    ...(machines && machines.length > 0 && { machines: [...machines] }),
    ...(notBefore !== undefined && { notBefore }),
    ...(notAfter !== undefined && { notAfter }),
  };
}

/** Adds a key, or gives one that is there more roles and machines. @throws ERR_QUALIFY_TRUST_EDIT for one that is revoked */
export function addKey(policy: TrustPolicy, key: PublicKey, grant: Grant): TrustPolicy {
  const before = policy.keys.find(({ keyId }) => keyId === key.keyId);
  if (!before) return { ...policy, keys: [...policy.keys, trustEntry(key, grant)] };
  if (before.revoked)
    throw refused(
      `${key.keyId} is ${before.revoked.reason} since ${before.revoked.since}`,
      'Add another key.',
    );
  const wasObserver = before.roles.includes('observer');
  // A key that may sign for any machine is not narrowed by being added for one.
  const machines =
    wasObserver && before.machines === undefined ? undefined : union(before.machines, grant.machines);
  const { notBefore = before.notBefore, notAfter = before.notAfter } = grant;
  return replace(
    policy,
    trustEntry(key, { roles: union(before.roles, grant.roles) ?? [], machines, notBefore, notAfter }),
  );
}

/**
 * The entry of a key that another may follow at the time `at`.
 * @throws ERR_QUALIFY_TRUST_EDIT (exit 64) when it is not there, is compromised, or has expired
 */
export function requireRotatable(policy: TrustPolicy, keyId: string, at: string): TrustedKey {
  const entry = requireEntry(policy, keyId);
  const { notAfter, revoked } = entry;
  const afresh =
    'Make another and trust it by itself: qualify keys generate NAME, then qualify keys add NAME.pub --role ROLE --trust FILE';
  if (revoked?.reason === 'compromised')
    throw refused(`${keyId} is compromised since ${revoked.since}, and names no key that follows it`, afresh);
  if (notAfter !== undefined && Date.parse(notAfter) < Date.parse(at))
    throw refused(`${keyId} has expired at ${notAfter}, and so would a key that follows it`, afresh);
  return entry;
}

/**
 * The policy after a rotation: the old key ends, and the new one begins with what the old one might do, until when that might.
 * @throws as `requireRotatable` does
 */
export function replaceKey(policy: TrustPolicy, old: PublicKey, key: PublicKey, at: string): TrustPolicy {
  const before = requireRotatable(policy, old.keyId, at);
  const ended = replace(policy, withField(before, { notAfter: at }));
  return { ...ended, keys: [...ended.keys, trustEntry(key, { ...before, notBefore: at })] };
}

/** Of two revocations the earlier `since` stays. @throws ERR_QUALIFY_TRUST_EDIT (exit 64) when the key is not there, or the revocation would be weaker than one that is */
export function revokeKey(policy: TrustPolicy, keyId: string, revoked: Revocation): TrustPolicy {
  const entry = requireEntry(policy, keyId);
  const before = entry.revoked;
  if (before?.reason === 'compromised' && revoked.reason === 'superseded')
    throw refused(`${keyId} is compromised since ${before.since}, which cannot become less`, '');
  if (before?.reason === revoked.reason && Date.parse(revoked.since) > Date.parse(before.since))
    throw refused(`${keyId} is ${before.reason} since ${before.since} already`, 'Give an earlier --since.');
  // A run from between the two must not be saved by a summary that was made meanwhile.
  const isLater = before !== undefined && Date.parse(before.since) < Date.parse(revoked.since);
  const since = isLater ? before.since : revoked.since;
  return replace(policy, withField(entry, { revoked: { ...revoked, since } }));
}

/** The entry of a key. @throws ERR_QUALIFY_TRUST_EDIT (exit 64) */
export function requireEntry(policy: TrustPolicy, keyId: string): TrustedKey {
  const entry = policy.keys.find((one) => one.keyId === keyId);
  if (entry) return entry;
  throw refused(
    `the trust policy does not have the key ${keyId}`,
    'Add it: qualify keys add KEY.pub --trust FILE',
  );
}

const replace = (policy: TrustPolicy, entry: TrustedKey): TrustPolicy => ({
  ...policy,
  keys: policy.keys.map((one) => (one.keyId === entry.keyId ? entry : one)),
});

/** Of an entry with one more field, the fields in the order of the schema. */
function withField(entry: TrustedKey, field: Partial<TrustedKey>): TrustedKey {
  const { keyId, publicKey, roles, machines, notBefore, notAfter, revoked } = { ...entry, ...field };
  return {
    ...{ keyId, publicKey, roles },
    ...(machines && { machines }),
    ...(notBefore !== undefined && { notBefore }),
    ...(notAfter !== undefined && { notAfter }),
    ...(revoked && { revoked }),
  };
}

function union<T>(one: readonly T[] | undefined, other: readonly T[] | undefined): T[] | undefined {
  return one || other ? [...new Set([...(one ?? []), ...(other ?? [])])] : undefined;
}

const refused = (why: string, hint: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_TRUST_EDIT', why, { exit: 'usage', ...(hint !== '' && { hint }) });
