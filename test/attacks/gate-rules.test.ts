/** A change brings rules along that ask for less, or a run is measured by such. */
import { test } from 'node:test';
import { trusted } from '../fixtures/gate-site.js';
import { attacked, losing, tryGate } from './try-gate.js';
import type { Guard } from './without-guard.js';

test('the change brings a policy along that protects less', async (t) => {
  const site = await attacked(t);
  const require = [{ matrix: 'fixture', file: 'matrices/fixture.yaml', machine: 'any', cells: ['64/32'] }];
  site.writeRules({ require });
  site.head = site.repository.commit('fewer cells');
  await site.run('losing', losing);
  await tryGate(t, site.options(), { result: 'fail' }, atHead);
});

test('the change brings a trust policy along with a key of its author', async (t) => {
  const site = await attacked(t);
  site.writeRules({}, [trusted(site.stranger, 'observer')]);
  site.head = site.repository.commit('trust me');
  await site.run('by a stranger', { key: site.stranger });
  await tryGate(t, site.options(), { result: 'missing', code: 'unknown-key' }, atHead);
});

test('the change widens the budget in the file of the matrix', async (t) => {
  const site = await attacked(t);
  const path = 'matrices/fixture.yaml';
  const text = site.repository.git('show', `main:${path}`);
  site.repository.write(path, `${text}\nbudgets: { prefill: 30, decode: 30 }\n`);
  site.head = site.repository.commit('wide');
  const wide = { budgets: { prefill: 30, decode: 30 } };
  await site.run('wide', {
    ...losing,
    alterPlan: (plan) => {
      Object.assign(plan, wide);
      for (const cell of plan.cells) cell.marginPercent = 30;
    },
  });
  await tryGate(t, site.options(), { result: 'missing', code: 'wrong-matrix' }, atHead);
});

/** Where rules are read. */
const atHead: Guard = {
  module: 'gate/rules',
  guard: 'fileAt(repository, baseCommit, file)',
  instead: "fileAt(repository, 'change', file)",
};

test('a matrix of the same name with wider budgets passes for the one that is required', async (t) => {
  const site = await attacked(t);
  await site.run('wide', {
    ...losing,
    alterPlan: (plan) => {
      plan.budgets = { prefill: 30, decode: 30 };
      for (const cell of plan.cells) cell.marginPercent = 30;
    },
  });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'wrong-matrix' },
    {
      module: 'gate/judge-requirement',
      guard: 'const difference = differenceFrom(ontoRevisionsOf(plan, matrix), plan);',
      instead: 'const difference = null;',
    },
  );
});
