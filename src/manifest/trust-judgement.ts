/**
 * Whether a trust policy lets a key say what it signed: a pure function of the policy, the key, the times and the present. A signature
 * shows which key signed and never when, so the dates of a statement count only against its signer, and what others say of the time
 * (a challenge, the summary of a verifier) counts beside them.
 */
import { type PublicKey, parsePublicKey } from './public-key.js';
import type { Role, TrustedKey, TrustPolicy } from './trust-policy.js';

/** Why a key is not trusted. */
export const trustCodes = [
  'policy-expired',
  'unknown-key',
  'wrong-role',
  'wrong-machine',
  'future-dated',
  'back-dated',
  'not-yet-valid',
  'expired',
  'revoked',
] as const;
export type TrustCode = (typeof trustCodes)[number];

/** How far the clocks of two honest machines may part. */
export const CLOCK_TOLERANCE_MS = 5 * 60 * 1000;

/** A verifier's word that it saw a manifest at a time; its signature has been checked, its key not yet judged. */
export interface Attestation {
  readonly key: PublicKey;
  /** The same evidence may be signed by anybody; a manifest only by its signer. */
  readonly manifestSha256: string;
  /** Of the policy that the verifier held the run to. */
  readonly policySha256: string;
  readonly timeVerified: string;
}

/** What is asked of a policy. All times as RFC 3339 with `Z`. */
export interface TrustQuestion {
  readonly role: Role;
  /** The key under which the signature was found good. */
  readonly key: PublicKey;
  /** Machine of the run; null for what no machine has measured, such as a waiver. */
  readonly machineId: string | null;
  /** The signer's own words on when; `finishedAt` is null for a session that was cut short. */
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** When the challenge that is answered was issued: not the signer's word. Null without a challenge. */
  readonly issuedAt: string | null;
  /** Of the run; null where there is none. */
  readonly manifestSha256: string | null;
  readonly attestations: readonly Attestation[];
}

export type TrustJudgement =
  | { readonly trusted: true; readonly entry: TrustedKey; readonly found: string }
  | { readonly trusted: false; readonly code: TrustCode; readonly message: string };

/** Judges by the first rule that speaks against it, from what concerns the policy to what concerns the times. */
export function judgeTrust(policy: TrustPolicy, question: TrustQuestion, now: Date): TrustJudgement {
  if (policy.expires !== undefined && now.getTime() > Date.parse(policy.expires))
    return refuse('policy-expired', `the trust policy expired at ${policy.expires}`);
  const entry = entryOf(policy, question.key);
  if (!entry) return refuse('unknown-key', `the trust policy does not have the key ${question.key.keyId}`);
  if (!entry.roles.includes(question.role))
    return refuse(
      'wrong-role',
      `${entry.keyId} is trusted as ${entry.roles.join(' and ')}, not as ${question.role}`,
    );
  return (
    judgeMachine(entry, question) ??
    judgeClock(question, now) ??
    judgeWindow(entry, question) ??
    judgeRevocation(policy, entry, question, now) ?? {
      trusted: true,
      entry,
      found: describe(entry, question, voucherOf(policy, entry, question, now)),
    }
  );
}

/** By the bytes of the key: names are never believed, neither the policy's nor an envelope's. */
function entryOf(policy: TrustPolicy, key: PublicKey): TrustedKey | undefined {
  return policy.keys.find((entry) => parsePublicKey(entry.publicKey, 'the trust policy').pem === key.pem);
}

function judgeMachine(entry: TrustedKey, { role, machineId }: TrustQuestion): TrustJudgement | null {
  if (role !== 'observer' || entry.machines === undefined) return null;
  if (machineId !== null && entry.machines.includes(machineId)) return null;
  return refuse('wrong-machine', `${entry.keyId} may not sign runs of the machine ${machineId ?? '(none)'}`);
}

/** Whether the times can be true at all. */
function judgeClock(question: TrustQuestion, now: Date): TrustJudgement | null {
  const { startedAt, finishedAt, issuedAt } = question;
  const latest = now.getTime() + CLOCK_TOLERANCE_MS;
  const stated = { startedAt, finishedAt, 'issuedAt of the challenge': issuedAt };
  for (const [name, time] of Object.entries(stated)) {
    if (time !== null && Date.parse(time) > latest)
      return refuse('future-dated', `its ${name}, ${time}, is yet to come`);
  }
  if (issuedAt === null) return null;
  const issued = Date.parse(issuedAt);
  const before = (name: string, time: string): TrustJudgement =>
    refuse('back-dated', `its ${name}, ${time}, lies before its own challenge was issued, ${issuedAt}`);
  if (finishedAt !== null && Date.parse(finishedAt) < issued) return before('finishedAt', finishedAt);
  // The two clocks may part a little; the end of a run is far enough from its challenge.
  if (Date.parse(startedAt) < issued - CLOCK_TOLERANCE_MS) return before('startedAt', startedAt);
  return null;
}

/** The latest that the signer states; a cut short session has only its beginning. */
function signedAt({ startedAt, finishedAt }: TrustQuestion): string {
  return finishedAt !== null && Date.parse(finishedAt) >= Date.parse(startedAt) ? finishedAt : startedAt;
}

/** The signer's word, and the challenge's, which is earlier than the signature whatever the signer says. */
function judgeWindow(entry: TrustedKey, question: TrustQuestion): TrustJudgement | null {
  const signed = signedAt(question);
  if (entry.notBefore !== undefined && Date.parse(signed) < Date.parse(entry.notBefore))
    return refuse('not-yet-valid', `signed at ${signed}; ${entry.keyId} counts from ${entry.notBefore}`);
  if (entry.notAfter === undefined) return null;
  const end = Date.parse(entry.notAfter);
  if (Date.parse(signed) > end)
    return refuse('expired', `signed at ${signed}; ${entry.keyId} counts until ${entry.notAfter}`);
  if (question.issuedAt !== null && Date.parse(question.issuedAt) > end)
    return refuse(
      'expired',
      `its challenge is of ${question.issuedAt}; ${entry.keyId} counts until ${entry.notAfter}`,
    );
  return null;
}

function judgeRevocation(
  policy: TrustPolicy,
  entry: TrustedKey,
  question: TrustQuestion,
  now: Date,
): TrustJudgement | null {
  const { revoked } = entry;
  if (revoked === undefined) return null;
  const since = Date.parse(revoked.since);
  const why = `${entry.keyId} is ${revoked.reason} since ${revoked.since}`;
  if (revoked.reason === 'compromised') {
    if (voucherOf(policy, entry, question, now)) return null;
    return refuse('revoked', `${why}, and no verifier of the policy attests that it saw this before`);
  }
  const signed = signedAt(question);
  if (Date.parse(signed) >= since) return refuse('revoked', `${why}, and this was signed at ${signed}`);
  if (question.issuedAt !== null && Date.parse(question.issuedAt) >= since)
    return refuse('revoked', `${why}, and the challenge that this answers is of ${question.issuedAt}`);
  return null;
}

/** What lifts the revocation of a key that is compromised. */
const voucherOf = (
  policy: TrustPolicy,
  { revoked }: TrustedKey,
  question: TrustQuestion,
  now: Date,
): Attestation | undefined =>
  revoked?.reason === 'compromised'
    ? question.attestations.find((one) => vouches(policy, one, question, Date.parse(revoked.since), now))
    : undefined;

/** A verifier's word on the very manifest, from before `since`, by another key that the policy itself trusts for this. */
function vouches(
  policy: TrustPolicy,
  { key, manifestSha256, timeVerified }: Attestation,
  question: TrustQuestion,
  since: number,
  now: Date,
): boolean {
  if (manifestSha256 !== question.manifestSha256 || key.pem === question.key.pem) return false;
  if (!(Date.parse(timeVerified) < since)) return false;
  // Nobody sees a run that has not begun.
  if (Date.parse(timeVerified) < Date.parse(question.startedAt)) return false;
  const asked: TrustQuestion = {
    ...{ role: 'verifier', key, machineId: null, startedAt: timeVerified, finishedAt: timeVerified },
    // The run answers the challenge, so it was not seen before that was issued.
    issuedAt: question.issuedAt,
    // Nobody vouches for a verifier: one whose key is compromised is not heard.
    ...{ manifestSha256: null, attestations: [] },
  };
  return judgeTrust(policy, asked, now).trusted;
}

function describe(
  entry: TrustedKey,
  { role, issuedAt }: TrustQuestion,
  voucher: Attestation | undefined,
): string {
  const window =
    entry.notBefore === undefined && entry.notAfter === undefined
      ? 'at any time'
      : `${entry.notBefore === undefined ? '' : `from ${entry.notBefore} `}${entry.notAfter === undefined ? '' : `until ${entry.notAfter}`}`.trim();
  const machines = role !== 'observer' ? '' : entry.machines ? ', of this machine' : ', of any machine';
  const revoked = entry.revoked
    ? `; ${entry.revoked.reason} since ${entry.revoked.since}, which this is not touched by${voucher === undefined ? '' : `: ${voucher.key.keyId} saw it at ${voucher.timeVerified}, under the policy ${voucher.policySha256}`}`
    : '';
  const bound = issuedAt === null ? '' : `; not begun before its challenge of ${issuedAt}`;
  return `${role} of the trust policy, ${window}${machines}${bound}${revoked}`;
}

const refuse = (code: TrustCode, message: string): TrustJudgement => ({ trusted: false, code, message });
