/** Runs that say more of themselves than they prove, and policies that believe it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../src/gate/decide.js';
import { type gate, gather } from '../../src/gate/gate.js';
import { matrixDigest } from '../../src/matrix/digest.js';
import type { Plan } from '../../src/plan/schema.js';
import { MACHINE, trusted } from '../fixtures/gate-site.js';
import { attacked, losing, requirement, tryGate, tryUsage } from './try-gate.js';
import { importWithout } from './without-guard.js';

const widen = (plan: Plan): void => {
  plan.budgets = { prefill: 30, decode: 30 };
  for (const cell of plan.cells) cell.marginPercent = 30;
};

test('a run of wider budgets claims the digest of the matrix that is required', async (t) => {
  const site = await attacked(t);
  const { matrices } = await gather(site.options());
  const [matrix] = matrices;
  assert.ok(matrix);
  await site.run('wide', {
    ...losing,
    alterPlan: (plan) => {
      widen(plan);
      plan.matrix.digest = matrixDigest(matrix);
    },
  });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'wrong-matrix' },
    {
      module: 'gate/judge-requirement',
      guard: 'if (differenceFrom(matrix, plan) === null)',
      instead: `if (plan.matrix.digest === '${matrixDigest(matrix)}')`,
    },
  );
});

test('a policy cannot name a matrix by a digest, which no plan proves', async (t) => {
  const site = await attacked(t);
  site.repository.git('checkout', '--quiet', 'main');
  site.writeRules({ require: [{ ...requirement, digest: 'a'.repeat(64) }] });
  site.base = site.repository.commit('by digest');
  site.repository.git('checkout', '--quiet', 'change');
  site.repository.git('rebase', '--quiet', 'main');
  site.head = site.repository.git('rev-parse', 'HEAD');
  await site.run('of another digest');
  // A policy that is not read strictly asks for a matrix that nobody ran, and is content with another.
  await tryUsage(t, site.options(), /digest/, {
    module: 'gate/policy',
    guard: 'export const requirementSchema = z.strictObject(',
    instead: 'export const requirementSchema = z.object(',
  });
});

test('a policy with a control character in a path is refused as one', async (t) => {
  const site = await attacked(t);
  site.repository.git('checkout', '--quiet', 'main');
  const lax = await importWithout<{ gate: typeof gate }>(t, 'gate/gate', {
    module: 'gate/policy',
    guard: '.regex(/^\\P{Cc}+$/u)',
    instead: '',
  });
  for (const rules of [{ trust: 'a\0b' }, { require: [{ ...requirement, file: 'a\0b' }] }]) {
    site.writeRules(rules);
    site.repository.commit('a path');
    await assert.rejects(site.gate(), { name: 'QualifyError', code: 'ERR_QUALIFY_POLICY', exitCode: 64 });
    await assert.rejects(lax.gate(site.options()), (error: Error) => error.name !== 'QualifyError');
  }
});

describe('one signer speaks for several machines', () => {
  const second = { machine: { id: 'e'.repeat(64) } };

  test('to be as many as are asked for', async (t) => {
    const site = await attacked(t, { policy: { require: [{ ...requirement, machinesAtLeast: 2 }] } });
    await site.run('one');
    await site.run('two', second);
    await tryGate(
      t,
      site.options(),
      { result: 'missing' },
      {
        module: 'gate/distinct-machines',
        guard: 'if (tried.has(keyId))',
        instead: 'keyOf.set(machineId, keyId); return true; if (false)',
      },
    );
    const both = [trusted(site.observer, 'observer'), trusted(site.stranger, 'observer')];
    const input = await gather(site.options());
    input.trust = { ...input.trust, keys: both };
    assert.equal(decide(input).result, 'missing');
    await site.run('three', { ...second, key: site.stranger });
    const other = await gather(site.options());
    other.trust = { ...other.trust, keys: both };
    assert.equal(decide(other).result, 'pass');
  });

  test('as one whose id is in the class, by a key that is bound to no machine', async (t) => {
    const site = await attacked(t, { policy: { machines: { any: { ids: [MACHINE] } } } });
    await site.run('claimed');
    await tryGate(
      t,
      site.options(),
      { result: 'missing', code: 'unbound-key' },
      {
        module: 'gate/judge-requirement',
        guard: 'key.machines === undefined',
        instead: 'false',
      },
    );
    const input = await gather(site.options());
    for (const key of input.trust.keys) key.machines = [MACHINE];
    assert.equal(decide(input).result, 'pass');
  });
});
