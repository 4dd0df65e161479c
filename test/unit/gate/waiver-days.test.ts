/** How long a waiver may be in force is the policy's to say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBaseRules } from '../../../src/gate/base-rules.js';
import { decide } from '../../../src/gate/decide.js';
import { gather } from '../../../src/gate/gate.js';
import { gatePolicySchema } from '../../../src/gate/policy.js';
import { requireWaivable } from '../../../src/gate/waivable.js';
import { GateSite, NOW } from '../../fixtures/gate-site.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

/** Slower in 96/32. */
const losing = { headShare: (tokens: number) => (tokens === 64 ? 0.5 : 1.1) };
const after = (days: number, seconds = 0): string =>
  new Date(Date.parse(NOW) + days * 86_400_000 + seconds * 1000).toISOString();

test('a waiver for longer than the policy bears is neither used nor signed, and the next step keeps to it', async (t) => {
  const site = await GateSite.make(await scratchFolder(t), { policy: { maxWaiverDays: 7 } });
  await site.run('losing', losing);
  const before = decide(await gather(site.options()));
  assert.equal(before.result, 'fail');
  assert.match(before.requirements[0]?.next?.command ?? '', / --expires 7d /);

  await site.waive('96/32', { issuedAt: NOW, expiresAt: after(7, 1) });
  const input = await gather(site.options());
  const refused = decide(input);
  assert.equal(refused.result, 'fail');
  assert.deepEqual(refused.waivers[0]?.reasons, [
    {
      code: 'waiver-term',
      message: `it is from ${NOW} until ${after(7, 1)}; by the policy a waiver is for at most 7 days`,
    },
  ]);
  const rules = await readBaseRules({ repository: site.repository.folder, policy: 'qualify.policy.yaml' });
  const [found] = input.waivers;
  assert.ok(found?.waiver);
  const { waiver } = found;
  const sign = async (): Promise<void> => requireWaivable(waiver, input.head, rules, NOW);
  const { hint, message } = await refusal(sign());
  assert.match(message, /at most 7 days \(waiver-term\)/);
  assert.match(hint ?? '', /--expires 7d$/);
  waiver.predicate.expiresAt = after(7);
  await sign();
  const used = decide(input);
  assert.equal(used.result, 'waived', JSON.stringify(used.waivers));
});

test('a policy that says nothing bears what any does, and none bears more', () => {
  const policy = { schemaVersion: 1, machines: { any: {} }, require: [{ matrix: 'smoke', machine: 'any' }] };
  assert.equal(gatePolicySchema.parse(policy).maxWaiverDays, 366);
  for (const maxWaiverDays of [0, 1.5, 367])
    assert.equal(gatePolicySchema.safeParse({ ...policy, maxWaiverDays }).success, false);
});
