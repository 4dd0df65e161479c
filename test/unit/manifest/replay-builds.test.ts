import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import type { Entry } from '../../../src/journal/entries.js';
import { replayBuilds } from '../../../src/manifest/replay-builds.js';
import type { Plan } from '../../../src/plan/schema.js';
import { buildDigestOf } from '../../../src/revision/build-digest.js';
import { makeJournal, makePlan } from '../../fixtures/journal.js';

const plain = makePlan({ arms: { base: { revision: 'one' }, head: { revision: 'two' } } });
const ordinary = plain.arms.filter(({ control }) => control === undefined);
const [reference] = ordinary;
assert.ok(reference);
const plan: Plan = { ...plain, arms: [...ordinary, { ...reference, name: 'null', control: 'null' }] };

/** The build entries of a session that kept to the plan, with what `change` makes of them. */
function builds(change: (entries: Extract<Entry, { kind: 'build' }>[]) => void = () => {}): Entry[] {
  const entries = makeJournal(plan, { rounds: 0 }).flatMap((entry) =>
    entry.kind === 'build' ? [entry] : [],
  );
  for (const entry of entries)
    entry.buildDigest = buildDigestOf(entry.revision.tree, entry.recipeDigest, entry.toolchain);
  change(entries);
  return entries;
}

const refuses = (message: RegExp, change: Parameters<typeof builds>[0]): void =>
  assert.throws(() => replayBuilds(plan, builds(change)), message);

describe('the builds of a journal', () => {
  test('hold one ordinary build a revision, and one elsewhere for the null arm', () => {
    const entries = builds();
    assert.deepEqual(
      entries.map((entry) => entry.kind === 'build' && [entry.arms, entry.elsewhere]),
      [
        [['base'], undefined],
        [['head'], undefined],
        [['null'], true],
      ],
    );
    replayBuilds(plan, entries);
  });

  test('are refused where the null arm shares the build of the reference', () => {
    refuses(/is no build elsewhere, as null needs/, (entries) => {
      entries[0]?.arms.push(...(entries.pop()?.arms ?? []));
    });
  });

  test('are refused where another arm runs the build elsewhere', () => {
    refuses(/builds head elsewhere, which is no null arm/, ([, head]) => {
      if (head !== undefined) head.elsewhere = true;
    });
  });

  test('are refused where a revision is built twice in one place', () => {
    refuses(/builds one once more/, (entries) => {
      const [base] = entries;
      if (base !== undefined) entries.push({ ...base, arms: [], seq: 99 });
    });
  });

  test('are refused where the build elsewhere is of other sources', () => {
    refuses(/of other sources or by other means than line/, ([, , null_]) => {
      if (null_ === undefined) return;
      null_.revision.tree = sha256('another tree');
      null_.buildDigest = buildDigestOf(null_.revision.tree, null_.recipeDigest, null_.toolchain);
    });
  });

  test('are refused after the first launch, as is the model', () => {
    const launch = makeJournal(plan, { rounds: 1 }).find(({ kind }) => kind === 'launch');
    const model = makeJournal(plan, { rounds: 0 }).find(({ kind }) => kind === 'model');
    assert.ok(launch && model);
    const journal = (...entries: Entry[]): Entry[] => entries.map((entry, seq) => ({ ...entry, seq }));
    const [base, ...others] = builds();
    assert.ok(base);
    replayBuilds(plan, journal(base, ...others, model, launch));
    assert.throws(
      () => replayBuilds(plan, journal(base, model, launch, ...others)),
      /has a build after the first launch/,
    );
    assert.throws(
      () => replayBuilds(plan, journal(base, ...others, launch, model)),
      /has a model after the first launch/,
    );
  });
});
