/** Runs that must not count beside, or in the place of, others. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { decide } from '../../src/gate/decide.js';
import { honest, tryDecide } from './try-decide.js';
import { attacked, losing, tryGate } from './try-gate.js';
import { importWithout } from './without-guard.js';

test('a good run is put beside the bad one', async (t) => {
  const site = await attacked(t);
  await site.run('bad', losing);
  await site.run('good', { startedAt: '2026-11-29T13:00:00Z' });
  await tryGate(
    t,
    site.options(),
    { result: 'fail' },
    { module: 'gate/cells', guard: 'losingFirst(cell, known) < 0', instead: 'losingFirst(cell, known) > 0' },
  );
  // And that it was there is seen: without the bad run the good one passes.
  rmSync(`${site.manifests}/bad`, { recursive: true });
  assert.equal((await site.gate()).result, 'pass');
});

test('a stranger signs a run', async (t) => {
  const site = await attacked(t);
  await site.run('by a stranger', { key: site.stranger });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'unknown-key' },
    { module: 'gate/judge-run', guard: '...judgeTrust(input, run),', instead: '' },
  );
});

test('a key that may not sign runs signs one', async (t) => {
  const site = await attacked(t);
  await site.run('by the maintainer', { key: site.maintainer });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'wrong-role' },
    { module: 'manifest/trust-judgement', guard: '!entry.roles.includes(question.role)', instead: 'false' },
  );
});

test('a simulated run is offered', async (t) => {
  const { input, run } = await honest(await attacked(t));
  run.plan.simulation = { tokensPerSecond: 1, cvPercent: 1 } as never;
  await tryDecide(t, input, 'simulated', {
    module: 'gate/judge-run',
    guard: 'plan.simulation !== undefined',
    instead: 'false',
  });
});

for (const kind of ['borrowed', 'directional'] as const)
  test(`${kind} evidence is offered`, async (t) => {
    const { input, run } = await honest(await attacked(t));
    run.kind = kind;
    await tryDecide(t, input, 'not-matched', {
      module: 'gate/judge-run',
      guard: '!mayGate(kind)',
      instead: 'false',
    });
  });

test('a session that shows a failed cell is broken off, and another one put after it', async (t) => {
  const { input, run } = await honest(await attacked(t));
  const broken = structuredClone(run);
  broken.digest = sha256('broken off');
  for (const time of ['startedAt', 'finishedAt'] as const)
    broken.statement.predicate[time] = new Date(
      Date.parse(run.statement.predicate.startedAt) - 60_000,
    ).toISOString();
  const [cell] = broken.verdict.cells;
  const [comparison] = cell?.comparisons ?? [];
  assert.ok(cell && comparison);
  cell.verdict = 'fail';
  comparison.verdict = 'fail';
  broken.verdict.result = 'not-measured';
  const attack = { ...input, runs: [...input.runs, { path: 'broken off', run: broken, failure: null }] };
  assert.equal(decide(attack).result, 'refused');
  const unguarded = await importWithout<{ decide: typeof decide }>(t, 'gate/decide', {
    module: 'gate/supersede',
    guard: 'STAYS.includes(verdict)',
    instead: 'false',
  });
  assert.equal(unguarded.decide(attack).result, 'pass');
});
