/** Failures that a gate does not get to see, or does not heed: measured again, put elsewhere, held back. */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { decide } from '../../src/gate/decide.js';
import { gate, gather } from '../../src/gate/gate.js';
import type { GateSite } from '../fixtures/gate-site.js';
import { attacked, losing, requirement, tryGate } from './try-gate.js';
import { importWithout } from './without-guard.js';

const later = { startedAt: '2026-11-29T14:00:00Z' };

describe('a failed run of this head is measured again until it passes', () => {
  const excused = {
    module: 'gate/judge-run',
    guard: 'const isBad = against.length > 0 &&',
    instead: 'const isBad = false &&',
  };

  test('after main moved on', async (t) => {
    const site = await attacked(t);
    await site.run('failed', losing);
    site.repository.git('checkout', '--quiet', 'main');
    site.repository.write('kernels/other.h', '// another engine\n');
    site.base = site.repository.commit('another engine');
    site.repository.git('checkout', '--quiet', 'change');
    await site.run('passed', later);
    await tryGate(t, site.options(), { result: 'fail', code: 'only-against' }, excused);
  });

  test('after the failed run grew old', async (t) => {
    const site = await attacked(t, { policy: { maxAgeDays: 1 } });
    await site.run('failed', { ...losing, startedAt: '2026-11-29T11:00:00Z' });
    await site.run('passed', later);
    await tryGate(t, site.options(), { result: 'fail', code: 'only-against' }, excused);
  });

  test('and the clock of the failed run was ahead', async (t) => {
    const site = await attacked(t);
    await site.run('failed', { ...losing, startedAt: '2026-11-30T12:06:00Z' });
    await site.run('passed', later);
    await tryGate(t, site.options(), { result: 'fail', code: 'only-against' }, excused);
  });

  test('but what passed in it is stale, and its failure can be waived', async (t) => {
    const site = await attacked(t, { policy: { maxAgeDays: 1 } });
    await site.run('failed', { ...losing, startedAt: '2026-11-29T11:00:00Z' });
    await site.waive('96/32');
    const alone = await site.gate();
    assert.equal(alone.result, 'missing');
    assert.deepEqual(
      alone.requirements[0]?.cells.map(({ id, result }) => [id, result]),
      [['96/32', 'waived']],
    );
    assert.ok(alone.requirements[0]?.reasons.some(({ code }) => code === 'only-against'));
    await site.run('passed', later);
    assert.equal((await site.gate()).result, 'waived');
  });

  test('a key that does not count is not heard against a change either', async (t) => {
    const site = await attacked(t, { policy: { maxAgeDays: 1 } });
    await site.run('by a stranger', { ...losing, key: site.stranger, startedAt: '2026-11-29T11:00:00Z' });
    await site.run('passed', later);
    assert.equal((await site.gate()).result, 'pass');
    const input = await gather(site.options());
    input.policy.maxAgeDays = 14;
    // Nor one that was revoked, behind a clock that is ahead.
    const bad = await attacked(t);
    await bad.run('failed', { ...losing, startedAt: '2026-11-30T12:06:00Z' });
    await bad.run('passed', later);
    const revoked = await gather(bad.options());
    for (const key of revoked.trust.keys)
      key.revoked = { since: '2026-11-30T12:00:00Z', reason: 'superseded' };
    assert.equal(decide(revoked).result, 'pass');
  });
});

describe('a run is put where the gate does not look', () => {
  const losingRun = (site: GateSite, name: string): Promise<string> => site.run(name, losing);

  test('below a folder that says that it is a run', async (t) => {
    const site = await attacked(t);
    await site.run('good', later);
    await losingRun(site, 'lab/bad');
    writeFileSync(join(site.manifests, 'lab', 'plan.json'), '');
    await tryGate(
      t,
      site.options(),
      { result: 'fail', code: 'unfinished' },
      {
        module: 'gate/find-runs',
        guard: 'if (own.run !== null)',
        instead: 'if (own)',
      },
    );
  });

  test('three folders deep it is found, and deeper it is told', async (t) => {
    const site = await attacked(t);
    await site.run('good', later);
    await losingRun(site, 'a/b/c/bad');
    await tryGate(
      t,
      site.options(),
      { result: 'fail' },
      {
        module: 'gate/find-runs',
        guard: 'const DEPTH = 4;',
        instead: 'const DEPTH = 2;',
      },
    );
    mkdirSync(join(site.manifests, 'x/y/z/u'), { recursive: true });
    renameSync(join(site.manifests, 'a/b/c/bad'), join(site.manifests, 'x/y/z/u/bad'));
    await told(site, 'x/y/z/u/bad');
  });

  /** It is in the evidence, and counts for nothing. */
  async function told(site: GateSite, path: string): Promise<void> {
    const { evidence, result } = await site.gate();
    assert.equal(result, 'pass');
    const found = evidence.find((one) => one.path === join(site.manifests, path));
    assert.deepEqual([found?.counts, found?.reasons.map(({ code }) => code)], [false, ['not-looked-at']]);
  }

  test('behind a link, or in an archive of another kind, it is told', async (t) => {
    const site = await attacked(t);
    await site.run('good', later);
    const bad = await losingRun(site, '../bad');
    symlinkSync(bad, join(site.manifests, 'linked'));
    await told(site, 'linked');
    for (const name of ['run.tar.gz', 'run.TAR', 'run.tgz', 'run.zip']) {
      writeFileSync(join(site.manifests, name), 'x');
      await told(site, name);
    }
    const silent = await importWithout<{ gate: typeof gate }>(
      t,
      'gate/gate',
      { module: 'gate/find-runs', guard: 'if (entry.isSymbolicLink())', instead: 'if (false)' },
      { module: 'gate/find-runs', guard: 'if (OTHER_ARCHIVE.test(entry.name))', instead: 'if (false)' },
    );
    const { evidence, result } = await silent.gate(site.options());
    assert.deepEqual(
      [result, evidence.map(({ path }) => path)],
      ['pass', [join(site.manifests, 'good')]],
      'nothing is said of them',
    );
  });
});

test('a failing answer to a challenge is held back: the decision says which question got none', async (t) => {
  const site = await attacked(t);
  await site.run('good');
  const input = await gather(site.options());
  const challenge = site.challenge(input);
  const { reasons } = decide({ ...input, challenges: [{ path: 'challenge.json', challenge }] });
  assert.deepEqual(
    reasons.map(({ code }) => code),
    ['unanswered'],
  );
  const silent = await importWithout<{ decide: typeof decide }>(t, 'gate/decide', {
    module: 'gate/decide',
    guard: '...unanswered(input),',
    instead: '',
  });
  assert.deepEqual(
    silent.decide({ ...input, challenges: [{ path: 'challenge.json', challenge }] }).reasons,
    [],
  );
  assert.match(reasons[0]?.message ?? '', /2026-11-29T11:00:00.000Z for [0-9a-f]{12} and fixture/);
  const run = input.runs[0]?.run;
  assert.ok(run);
  run.plan.challenge = challenge;
  assert.deepEqual(decide({ ...input, challenges: [{ path: 'challenge.json', challenge }] }).reasons, []);
});

test('a cell that is not protected fails: it decides nothing, and is told', async (t) => {
  const site = await attacked(t, { policy: { require: [{ ...requirement, cells: ['64/32'] }] } });
  await site.run('losing', losing);
  const decision = await gate(site.options());
  assert.equal(decision.result, 'pass');
  assert.deepEqual(decision.requirements[0]?.reasons, [
    { code: 'other-cells', message: 'other cells failed: 96/32' },
  ]);
  const { renderJunit } = await import('../../src/gate/junit.js');
  assert.doesNotMatch(renderJunit(decision), /<failure|<error/);
  assert.match(renderJunit(decision), /other cells failed: 96\/32/);
});

// The guard of the last is what it prints; there is nothing to take out but the words.
test('without its words that decision would say nothing of it', async (t) => {
  const site = await attacked(t, { policy: { require: [{ ...requirement, cells: ['64/32'] }] } });
  await site.run('losing', losing);
  const silent = await importWithout<{ gate: typeof gate }>(t, 'gate/gate', {
    module: 'gate/decide',
    guard: 'others.size === 0',
    instead: 'true',
  });
  assert.deepEqual((await silent.gate(site.options())).requirements[0]?.reasons, []);
});
