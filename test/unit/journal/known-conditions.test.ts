/** What plan and journal say of the conditions of a launch. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Draft } from '../../../src/journal/journal.js';
import { knownConditions, optionValue } from '../../../src/journal/known-conditions.js';
import { engineRecipe } from '../../../src/revision/recipe.js';
import { makeJournal, makePlan } from '../../fixtures/journal.js';

const plan = makePlan();
const known = (entries: readonly Draft[], of = plan) => knownConditions(of, entries, 'r0-head');

test('a build by our recipe has a type, flags and definitions; one by another has none that are known', () => {
  const entries = makeJournal(plan);
  assert.equal(known(entries)['build.flags'], null);
  const ours = entries.map((entry) =>
    entry.kind === 'build' ? { ...entry, recipeDigest: engineRecipe.digest } : entry,
  );
  const fields = known(ours);
  assert.equal(fields['build.type'], 'Release');
  assert.match(fields['build.flags'] ?? '', /^-ffile-prefix-map=/);
  assert.match(fields['build.defines'] ?? '', /-DQUALIFY_NODE_MODULES=/);
  assert.doesNotMatch(fields['build.defines'] ?? '', /CMAKE_BUILD_TYPE|CMAKE_CXX_FLAGS/);
});

test('the sampler is what a request asks besides its prompt and lengths', () => {
  const sampler = JSON.parse(known(makeJournal(plan))['workload.sampler'] ?? '');
  assert.equal(sampler.temperature, 0);
  assert.equal(sampler.ignore_eos, true);
  assert.deepEqual(
    ['prompt', 'n_predict', 'chunk'].filter((key) => key in sampler),
    [],
  );
});

test('options are those of the command line, the last of a name', () => {
  assert.equal(optionValue(['serve', '--context', '64', '--context', '128'], '--context'), '128');
  assert.equal(optionValue(['serve'], '--context'), null);
  const argv = ['serve', '--context', '80', '--cache-slots', '8'];
  const entries = makeJournal(plan).map((entry) => (entry.kind === 'launch' ? { ...entry, argv } : entry));
  assert.equal(known(entries)['engine.contextTokens'], '80');
  assert.equal(known(entries)['engine.cacheSlots'], '8');
});

test('arguments that may be places are told as a digest', () => {
  const of = (list: string[]) => {
    const own = makePlan({ arms: { base: {}, head: { arguments: list } } });
    return known(makeJournal(own), own)['engine.arguments'];
  };
  assert.equal(of(['--cache-slots', '8']), '["--cache-slots","8"]');
  assert.match(of(['--table', '/home/someone/x']) ?? '', /^sha256:[0-9a-f]{64}$/);
});

test('what is not in the journal is null, and nothing of it is made up', () => {
  const fields = known([]);
  for (const field of ['build.digest', 'model.sha256', 'engine.threads', 'harness.version', 'engine.name'])
    assert.equal(fields[field], null, field);
  assert.equal(fields['workload.samples'], '3');
});
