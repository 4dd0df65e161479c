import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QualifyError } from '../../../src/errors.js';
import type { PublicKey } from '../../../src/manifest/public-key.js';
import { addKey, EMPTY_POLICY, replaceKey, revokeKey } from '../../../src/manifest/trust-edit.js';
import type { TrustPolicy } from '../../../src/manifest/trust-policy.js';
import { made } from '../../fixtures/public-key.js';

const [old, key] = [made(), made()];
const AT = '2026-11-30T12:00:00.000Z';
const END = '2027-06-30T00:00:00Z';
const granted = (notAfter?: string): TrustPolicy =>
  addKey(EMPTY_POLICY, old, { roles: ['observer'], machines: ['a'.repeat(64)], notAfter });
const entryOf = (policy: TrustPolicy, { keyId }: PublicKey) => policy.keys.find((one) => one.keyId === keyId);

test('the key that follows another has its roles, machines and end', () => {
  const policy = replaceKey(granted(END), old, key, AT);
  assert.equal(entryOf(policy, old)?.notAfter, AT);
  const { roles, machines, notBefore, notAfter } = entryOf(policy, key) ?? {};
  assert.deepEqual(
    { roles, machines, notBefore, notAfter },
    {
      ...{ roles: ['observer'], machines: ['a'.repeat(64)] },
      ...{ notBefore: AT, notAfter: END },
    },
  );
  assert.equal(entryOf(replaceKey(granted(), old, key, AT), key)?.notAfter, undefined);
});

/** With the remedy, which names a command. */
const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof QualifyError);
  assert.deepEqual([error.code, error.exit], ['ERR_QUALIFY_TRUST_EDIT', 'usage']);
  assert.match(error.message, message);
  assert.match(error.hint ?? '', /qualify keys generate.*qualify keys add/);
  return true;
};

test('nothing follows a compromised key: whoever has it would name its successor', () => {
  const since = '2026-11-01T00:00:00Z';
  const policy = revokeKey(granted(), old.keyId, { since, reason: 'compromised' });
  assert.throws(() => replaceKey(policy, old, key, AT), refused(/compromised since 2026-11-01/));
  const superseded = revokeKey(granted(), old.keyId, { since, reason: 'superseded' });
  assert.ok(entryOf(replaceKey(superseded, old, key, AT), key));
});

test('nothing follows a key that has expired', () => {
  assert.throws(
    () => replaceKey(granted('2026-11-30T11:59:59Z'), old, key, AT),
    refused(/expired at 2026-11-30T11:59:59Z/),
  );
});
