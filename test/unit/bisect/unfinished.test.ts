/** Which bisection the same command line goes on with. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Bisection, writeBisection } from '../../../src/bisect/result.js';
import { unfinishedBisection } from '../../../src/bisect/unfinished.js';
import { scratchFolder } from '../../support/folder.js';

const question = {
  ...{ good: 'a'.repeat(40), bad: 'b'.repeat(40), firstParent: false, cell: '401/512', marginPercent: 2 },
  ...{ rounds: null, harness: '0.1.0', matrix: { name: 'm', digest: 'c'.repeat(64) } },
};

const bisection = (id: string, changes: Partial<Bisection> = {}): Bisection => ({
  ...{ schemaVersion: 1, id, startedAt: '2026-11-29T12:00:00Z', ...question },
  ...{ mergeBase: null, commits: 3, result: 'interrupted', exitCode: 12, culprit: null, range: null },
  ...{ tried: [], confirmation: null, failure: null, seconds: 1, waitedSeconds: 0 },
  ...changes,
});

function write(folder: string, one: Bisection): void {
  mkdirSync(join(folder, one.id), { recursive: true });
  writeBisection(join(folder, one.id), one);
}

describe('the bisection that a command goes on with', () => {
  test('is none where there is none', async (t) => {
    const folder = await scratchFolder(t);
    assert.equal(unfinishedBisection(join(folder, 'none'), question), null);
    mkdirSync(join(folder, 'empty'));
    mkdirSync(join(folder, 'other'));
    writeFileSync(join(folder, 'other', 'bisect.json'), '{"schemaVersion":2}');
    assert.equal(unfinishedBisection(folder, question), null);
  });

  test('is the latest of the same question, when it did not come to its end', async (t) => {
    const folder = await scratchFolder(t);
    for (const [at, result] of (['running', 'interrupted', 'broken'] as const).entries()) {
      write(folder, bisection(`1-${at}`, { result }));
      assert.equal(unfinishedBisection(folder, question)?.id, `1-${at}`);
    }
    write(folder, bisection('2', { result: 'confirmed', exitCode: 0 }));
    assert.equal(
      unfinishedBisection(folder, question),
      null,
      'what was done is not done again for an older one',
    );
  });

  test('is never one of another question', async (t) => {
    const folder = await scratchFolder(t);
    const others: Partial<Bisection>[] = [
      { good: 'd'.repeat(40) },
      { bad: 'd'.repeat(40) },
      { firstParent: true },
      { cell: '2048/2048' },
      { marginPercent: 5 },
      { rounds: 6 },
      { harness: '0.0.9' },
      { matrix: { name: 'm', digest: 'e'.repeat(64) } },
    ];
    for (const [at, change] of others.entries()) write(folder, bisection(`3-${at}`, change));
    // As versions before this one wrote it.
    const { rounds: _rounds, ...old } = bisection('4');
    write(folder, old);
    assert.equal(unfinishedBisection(folder, question), null);
    write(folder, bisection('5'));
    assert.equal(unfinishedBisection(folder, question)?.id, '5');
  });
});
