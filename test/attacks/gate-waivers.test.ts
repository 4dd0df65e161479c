/** Waivers that do not cover what they are offered for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attacked, losing, tryGate } from './try-gate.js';

test('a waiver for another cell is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('64/32');
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'not-needed' },
    { module: 'gate/decide', guard: ' && one.cell === cell.id', instead: '' },
  );
});

test('a waiver for another head is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('96/32', { head: { commit: 'd'.repeat(40), tree: 'e'.repeat(40) } });
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'other-head' },
    {
      module: 'gate/judge-waiver',
      guard: 'commit.gitCommit !== head.commit && tree.gitTree !== head.tree',
      instead: 'false',
    },
  );
});

test('more than the waived change is queued with its waiver', async (t) => {
  const site = await attacked(t);
  const { repository } = site;
  // Signed for the change, and merged into main, where the queue begins.
  await site.waive('96/32');
  repository.git('checkout', '--quiet', 'main');
  repository.write('waivers/96.waiver.json', 'as it is signed');
  site.base = repository.commit('the waiver');
  const change = site.head;
  repository.git('merge', '--quiet', '--no-ff', '--message', 'queued', change);
  site.head = repository.git('rev-parse', 'HEAD');
  repository.git('checkout', '--quiet', '--detach');
  repository.git('branch', '--force', 'main', site.base);
  await site.run('losing', losing);
  assert.equal((await site.gate()).result, 'waived', 'the merge of the change alone is what was waived');
  repository.write('kernels/a.h', '// slower still\n');
  site.head = repository.commit('slipped in');
  await site.run('slipped-in', losing);
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'other-head' },
    { module: 'gate/judge-waiver', guard: '=== head.tree', instead: '!== undefined' },
  );
});

test('a waiver that an observer signed is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('96/32', {}, site.observer);
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'wrong-role' },
    { module: 'gate/judge-waiver', guard: "role: 'maintainer'", instead: "role: 'observer'" },
  );
});

test('a waiver that has expired is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('96/32', { expiresAt: '2026-11-30T11:59:59.000Z' });
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'waiver-expired' },
    {
      module: 'gate/judge-waiver',
      guard: 'Date.parse(decidedAt) >= Date.parse(predicate.expiresAt)',
      instead: 'false',
    },
  );
});

for (const [name, terms] of [
  ['for longer than any waiver may be', { expiresAt: '2027-12-02T00:00:00.000Z' }],
  // As far as two clocks may part: later it would be dated ahead, or over.
  [
    'that ends before it was issued',
    { issuedAt: '2026-11-30T12:00:30.000Z', expiresAt: '2026-11-30T12:00:10.000Z' },
  ],
] as const)
  test(`a waiver ${name} is offered`, async (t) => {
    const site = await attacked(t);
    await site.run('losing', losing);
    await site.waive('96/32', terms);
    await tryGate(
      t,
      site.options(),
      { result: 'fail', code: 'waiver-term' },
      {
        module: 'gate/judge-waiver',
        guard: 'days > 0 && days <= policy.maxWaiverDays',
        instead: 'true',
      },
    );
  });

test('a waiver for a refusal is offered', async (t) => {
  const site = await attacked(t);
  await site.run('contaminated', {
    alter: (draft) => (draft.kind === 'stop' ? { ...draft, left: ['burner'] } : draft),
  });
  for (const cell of ['64/32', '96/32']) await site.waive(cell);
  await tryGate(
    t,
    site.options(),
    { result: 'refused', code: 'refusal' },
    { module: 'gate/decide', guard: '!WAIVABLE.includes(cell.result)', instead: 'false' },
  );
});
