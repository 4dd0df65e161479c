import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type PublicKey, sshLine } from '../../../src/manifest/public-key.js';
import {
  type Attestation,
  CLOCK_TOLERANCE_MS,
  judgeTrust,
  type TrustCode,
  type TrustQuestion,
  trustCodes,
} from '../../../src/manifest/trust-judgement.js';
import type { TrustedKey, TrustPolicy } from '../../../src/manifest/trust-policy.js';
import { made, madeP256 } from '../../fixtures/public-key.js';

const [signer, other, verifier, stranger] = [made(), made(), madeP256(), made()];
const MACHINE = 'a'.repeat(64);
const MANIFEST = 'e'.repeat(64);

/** Days of 2026 at noon, and instants around them. */
const day = (date: string, ms = 0): string =>
  new Date(Date.parse(`2026-${date}T12:00:00Z`) + ms).toISOString();
const NOW = new Date(day('06-15'));
const later = (ms: number): string => new Date(NOW.getTime() + ms).toISOString();

const entry = (of: PublicKey, change: Partial<TrustedKey> = {}): TrustedKey => ({
  ...{ keyId: of.keyId, publicKey: sshLine(of), roles: ['observer'] },
  ...change,
});
const policyOf = (change: Partial<TrustedKey> = {}, more: Partial<TrustPolicy> = {}): TrustPolicy => ({
  schemaVersion: 1,
  keys: [entry(other), entry(signer, change), entry(verifier, { roles: ['verifier'] })],
  ...more,
});
const asked = (change: Partial<TrustQuestion> = {}): TrustQuestion => ({
  ...{ role: 'observer', key: signer, machineId: MACHINE, startedAt: day('06-10'), finishedAt: day('06-11') },
  ...{ issuedAt: null, manifestSha256: MANIFEST, attestations: [] },
  ...change,
});
const seen = (timeVerified: string, change: Partial<Attestation> = {}): Attestation => ({
  ...{ key: verifier, manifestSha256: MANIFEST, policySha256: 'd'.repeat(64), timeVerified },
  ...change,
});

type Row = readonly [
  what: string,
  policy: TrustPolicy,
  question: TrustQuestion,
  expected: TrustCode | 'trusted',
];

const since = day('06-12');
const compromised = policyOf({ revoked: { since, reason: 'compromised' } });
const superseded = (date: string) => policyOf({ revoked: { since: date, reason: 'superseded' } });
/** A policy whose verifier is not as it was. */
const withVerifier = (change: Partial<TrustedKey>, of = verifier): TrustPolicy => ({
  ...compromised,
  keys: [...compromised.keys.slice(0, 2), entry(of, { roles: ['verifier'], ...change })],
});

const rows: readonly Row[] = [
  ['a key of the policy', policyOf(), asked(), 'trusted'],
  ['a policy on its last instant', policyOf({}, { expires: NOW.toISOString() }), asked(), 'trusted'],
  ['a policy an instant too late', policyOf({}, { expires: later(-1) }), asked(), 'policy-expired'],
  ['a key that is not there', policyOf(), asked({ key: stranger }), 'unknown-key'],
  ['an empty policy', policyOf({}, { keys: [] }), asked(), 'unknown-key'],
  [
    'a name that another key goes by',
    policyOf({ keyId: stranger.keyId }),
    asked({ key: stranger }),
    'unknown-key',
  ],
  ['a wrong name beside the right key', policyOf({ keyId: stranger.keyId }), asked(), 'trusted'],
  ['a maintainer', policyOf({ roles: ['maintainer'] }), asked(), 'wrong-role'],
  ['a verifier and maintainer', policyOf({ roles: ['verifier', 'maintainer'] }), asked(), 'wrong-role'],
  [
    'an observer asked for as a maintainer',
    policyOf(),
    asked({ role: 'maintainer', machineId: null }),
    'wrong-role',
  ],
  ['one of several roles', policyOf({ roles: ['maintainer', 'observer'] }), asked(), 'trusted'],
  ['a machine of the key', policyOf({ machines: [MACHINE] }), asked(), 'trusted'],
  ['another machine', policyOf({ machines: ['b'.repeat(64)] }), asked(), 'wrong-machine'],
  [
    'no machine where one is demanded',
    policyOf({ machines: [MACHINE] }),
    asked({ machineId: null }),
    'wrong-machine',
  ],
  [
    'a waiver by a key that observes on one machine',
    policyOf({ roles: ['observer', 'maintainer'], machines: [MACHINE] }),
    asked({ role: 'maintainer', machineId: null }),
    'trusted',
  ],

  [
    'an end as far ahead as clocks may part',
    policyOf(),
    asked({ finishedAt: later(CLOCK_TOLERANCE_MS) }),
    'trusted',
  ],
  ['an end further ahead', policyOf(), asked({ finishedAt: later(CLOCK_TOLERANCE_MS + 1) }), 'future-dated'],
  [
    'a beginning further ahead',
    policyOf(),
    asked({ startedAt: later(CLOCK_TOLERANCE_MS + 1) }),
    'future-dated',
  ],
  [
    'a cut short session that begins ahead',
    policyOf(),
    asked({ startedAt: later(CLOCK_TOLERANCE_MS + 1), finishedAt: null }),
    'future-dated',
  ],
  [
    'a challenge further ahead',
    policyOf(),
    asked({ issuedAt: later(CLOCK_TOLERANCE_MS + 1) }),
    'future-dated',
  ],

  [
    'an end on the instant of its challenge',
    policyOf(),
    asked({ startedAt: day('06-11'), issuedAt: day('06-11') }),
    'trusted',
  ],
  ['an end an instant before its challenge', policyOf(), asked({ issuedAt: day('06-11', 1) }), 'back-dated'],
  [
    'a beginning as far before its challenge as clocks may part',
    policyOf(),
    asked({ issuedAt: day('06-10', CLOCK_TOLERANCE_MS) }),
    'trusted',
  ],
  [
    'a beginning further before it',
    policyOf(),
    asked({ issuedAt: day('06-10', CLOCK_TOLERANCE_MS + 1) }),
    'back-dated',
  ],
  [
    'a cut short session that began before its challenge',
    policyOf(),
    asked({ finishedAt: null, issuedAt: day('06-11') }),
    'back-dated',
  ],

  ['the first instant of the window', policyOf({ notBefore: day('06-11') }), asked(), 'trusted'],
  ['an instant before it', policyOf({ notBefore: day('06-11', 1) }), asked(), 'not-yet-valid'],
  [
    'a cut short session before it',
    policyOf({ notBefore: day('06-10', 1) }),
    asked({ finishedAt: null }),
    'not-yet-valid',
  ],
  ['the last instant of the window', policyOf({ notAfter: day('06-11') }), asked(), 'trusted'],
  ['an instant after it', policyOf({ notAfter: day('06-11', -1) }), asked(), 'expired'],
  [
    'an end that is stated to be before the beginning',
    policyOf({ notAfter: day('06-09') }),
    asked({ finishedAt: day('06-08') }),
    'expired',
  ],
  [
    'a challenge of after the window, whatever the signer states',
    policyOf({ notAfter: day('06-11') }),
    asked({ startedAt: day('06-11'), finishedAt: day('06-11', 1), issuedAt: day('06-11', 1) }),
    'expired',
  ],
  [
    'a challenge inside the window',
    policyOf({ notAfter: day('06-11') }),
    asked({ issuedAt: day('06-10') }),
    'trusted',
  ],

  ['signed before the key was superseded', superseded(day('06-11', 1)), asked(), 'trusted'],
  ['signed on the instant it was superseded', superseded(day('06-11')), asked(), 'revoked'],
  [
    'a stated end before the beginning, of a superseded key',
    superseded(day('06-09')),
    asked({ finishedAt: day('06-08') }),
    'revoked',
  ],
  [
    'a challenge from before it was superseded',
    superseded(day('06-12')),
    asked({ issuedAt: day('06-10') }),
    'trusted',
  ],
  [
    'superseded, and attested before',
    superseded(day('06-11')),
    asked({ attestations: [seen(day('06-10'))] }),
    'revoked',
  ],

  ['signed before the key was compromised, by its own word', compromised, asked(), 'revoked'],
  ['compromised, attested before', compromised, asked({ attestations: [seen(day('06-12', -1))] }), 'trusted'],
  ['compromised, attested on the instant', compromised, asked({ attestations: [seen(since)] }), 'revoked'],
  [
    'compromised, another manifest attested',
    compromised,
    asked({ attestations: [seen(day('06-11'), { manifestSha256: 'f'.repeat(64) })] }),
    'revoked',
  ],
  [
    'compromised, attested by an observer',
    compromised,
    asked({ attestations: [seen(day('06-11'), { key: other })] }),
    'revoked',
  ],
  [
    'compromised, attested by a stranger',
    compromised,
    asked({ attestations: [seen(day('06-11'), { key: stranger })] }),
    'revoked',
  ],
  [
    'compromised, attested by itself, though it may verify',
    policyOf({ roles: ['observer', 'verifier'], revoked: { since, reason: 'compromised' } }),
    asked({ attestations: [seen(day('06-11'), { key: signer })] }),
    'revoked',
  ],
  [
    'compromised, attested by a verifier that is compromised',
    withVerifier({ revoked: { since: day('06-14'), reason: 'compromised' } }),
    asked({ attestations: [seen(day('06-11'))] }),
    'revoked',
  ],
  [
    'compromised, attested by a verifier before it was superseded',
    withVerifier({ revoked: { since: day('06-14'), reason: 'superseded' } }),
    asked({ attestations: [seen(day('06-11'))] }),
    'trusted',
  ],
  [
    'compromised, attested by a verifier outside of its window',
    withVerifier({ notBefore: day('06-11', 1) }),
    asked({ attestations: [seen(day('06-11'))] }),
    'revoked',
  ],
  [
    'compromised, attested before its own challenge was issued',
    compromised,
    asked({ issuedAt: day('06-10'), attestations: [seen(day('06-10', -1))] }),
    'revoked',
  ],
  [
    'compromised, attested before the run began',
    compromised,
    asked({ attestations: [seen(day('06-10', -1))] }),
    'revoked',
  ],
  [
    'compromised, one of several attestations counts',
    compromised,
    asked({ attestations: [seen(since), seen(day('06-11'), { key: stranger }), seen(day('06-11'))] }),
    'trusted',
  ],
  [
    'compromised and attested, but of another machine',
    policyOf({ machines: ['b'.repeat(64)], revoked: { since, reason: 'compromised' } }),
    asked({ attestations: [seen(day('06-11'))] }),
    'wrong-machine',
  ],
  [
    'compromised and attested, but outside of its window',
    policyOf({ notAfter: day('06-10'), revoked: { since, reason: 'compromised' } }),
    asked({ attestations: [seen(day('06-11'))] }),
    'expired',
  ],
];

describe('judgeTrust', () => {
  for (const [what, policy, question, expected] of rows) {
    test(`${what}: ${expected}`, () => {
      const judgement = judgeTrust(policy, question, NOW);
      assert.equal(judgement.trusted ? 'trusted' : judgement.code, expected);
      if (!judgement.trusted) assert.ok(judgement.message.length > 20);
    });
  }

  test('has a row for every code', () => {
    const missing = trustCodes.filter((code) => !rows.some(([, , , expected]) => expected === code));
    assert.deepEqual(missing, []);
  });

  test('says which entry it rests on, and why', () => {
    const judgement = judgeTrust(policyOf({ notAfter: day('07-01') }), asked(), NOW);
    assert.ok(judgement.trusted);
    assert.equal(judgement.entry.keyId, signer.keyId);
    assert.equal(judgement.found, `observer of the trust policy, until ${day('07-01')}, of any machine`);
  });
});
