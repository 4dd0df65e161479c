/** The compiled parser of entries against the schema that it was compiled from: what one refuses, the other does, in the same words. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Entry, entrySchema, safeParseEntry } from '../../../src/journal/entries.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';

const WRONG = [
  undefined,
  null,
  -1,
  0.5,
  Number.NaN,
  2 ** 53,
  '',
  'x',
  '0'.repeat(64),
  [],
  {},
  [-1],
  { a: -1 },
  true,
];

const same = (value: unknown): boolean => {
  const [ours, theirs] = [safeParseEntry(value), entrySchema.safeParse(value)];
  assert.equal(ours.success, theirs.success, JSON.stringify(value));
  assert.deepEqual(ours.error?.issues, theirs.error?.issues);
  // Also the order of the keys, by which a line is compared.
  assert.equal(JSON.stringify(ours.data), JSON.stringify(theirs.data));
  return ours.success;
};

/** The value with each of its fields, at any depth, missing, something else, or with one beside it. */
function* broken(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, own] of Object.entries(value)) {
    const put = (other: unknown) =>
      Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other };
    for (const wrong of WRONG) yield put(wrong);
    for (const below of broken(own)) yield put(below);
    if (!Array.isArray(value))
      yield Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  }
  if (!Array.isArray(value)) yield { ...value, stray: 1 };
}

test('entries of each kind, whole and with every field broken', async (context) => {
  const { entries } = await writeRun(await scratchFolder(context));
  const kinds = new Map(entries.map((entry): [string, Entry] => [entry.kind, entry]));
  assert.ok(kinds.size >= 12, [...kinds.keys()].join());
  let refused = 0;
  for (const entry of kinds.values()) {
    assert.ok(same(entry));
    for (const wrong of broken(entry)) if (!same(wrong)) refused += 1;
  }
  assert.ok(refused > 1000, String(refused));
  for (const value of [...WRONG, { kind: 'other' }, { kind: {} }]) assert.ok(!same(value));
});
