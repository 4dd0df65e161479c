/** What `qualify pr --bisect` says of its exit code, which is not the one that the report above it names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gitBisectCode, gitBisectLine } from '../../../src/cli/git-bisect.js';
import { QualifyError } from '../../../src/errors.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import { makePlan, verdictOf } from '../../fixtures/journal.js';

const plan = makePlan();

/** Head takes `factor` of base's time, with some noise. */
const slower = (factor: number): Verdict =>
  verdictOf(plan, {
    ms: ({ arm, round, index }) =>
      arm === 'base' ? 100 : 100 * factor * (1 + 0.004 * (((round * 7 + index * 3) % 5) - 2)),
  });

const said = (verdict: Verdict, failure: QualifyError | null = null): [number, string] => [
  gitBisectCode({ verdict, failure }),
  gitBisectLine({ verdict, failure }),
];

test('a code that the report does not show is explained', () => {
  const uncleared = slower(1.02);
  assert.equal(uncleared.exitCode, 10);
  assert.deepEqual(said(uncleared), [
    125,
    'git bisect: 125, skip: fail, slower-not-cleared says neither good nor bad',
  ]);
  assert.deepEqual(said(slower(1.25)), [1, 'git bisect: 1, bad: fail, beyond-budget']);
  assert.deepEqual(said(slower(1)), [0, 'git bisect: 0, good: pass, neutral']);
  const failed = (code: string) => new QualifyError(code, 'It failed.', { exit: 'infrastructure' });
  assert.deepEqual(said(slower(1), failed('ERR_QUALIFY_BUILD_FAILED')), [
    125,
    'git bisect: 125, skip: ERR_QUALIFY_BUILD_FAILED says neither good nor bad',
  ]);
  assert.deepEqual(said(slower(1), failed('ERR_QUALIFY_DISK_FULL')), [
    255,
    'git bisect: 255, the bisection ends: ERR_QUALIFY_DISK_FULL is not of the commit',
  ]);
});
