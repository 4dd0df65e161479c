/** A machine that was not left alone: what is refused, and what is mentioned only. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { alterAnswers, type Draft, makePlan, verdictOf } from '../../fixtures/journal.js';
import { type Case, inHead, plan, refused, refusesEach, warningsOf } from '../../fixtures/refused.js';

const quiet: Case[] = [
  [
    'swapping',
    'contaminated',
    'swapping',
    14,
    (draft) => (draft.kind === 'load' ? { ...draft, swapIns: 5000 } : draft),
  ],
  [
    'an engine that waits for the disk',
    'contaminated',
    'major-faults',
    14,
    (draft) => (draft.kind === 'load' && inHead(draft) ? { ...draft, majorFaults: 65 } : draft),
  ],
  [
    'a process that outlived its engine',
    'contaminated',
    'stray-child',
    14,
    (draft) => (draft.kind === 'stop' && inHead(draft) ? { ...draft, left: ['sh', 'sleep'] } : draft),
  ],
  ['an unknown load', 'contaminated', 'load-unknown', 14, (draft) => (draft.kind === 'load' ? null : draft)],
];

describe('a machine that was not left alone', () => refusesEach(quiet));

describe('load and clocks', () => {
  const loaded = (draft: Draft): Draft =>
    draft.kind === 'load' ? { ...draft, foreignCpuShare: 0.6 } : draft;

  test('foreign load voids wall time and is mentioned under CPU time', () => {
    const wall = makePlan({ protocol: { clock: 'wall' } });
    refused(verdictOf(wall, { alter: loaded }), 'contaminated', 'foreign-load', 14);
    const verdict = verdictOf(plan, { alter: loaded });
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(
      warningsOf(verdict).map(({ code }) => code),
      ['foreign-load'],
    );
  });

  test('what an ordinary quiet machine does beside the engine does not void wall time', () => {
    const wall = makePlan({ protocol: { clock: 'wall' } });
    const quiet = (draft: Draft): Draft =>
      draft.kind === 'load' ? { ...draft, foreignCpuShare: 0.2, swapIns: 200 } : draft;
    const verdict = verdictOf(wall, { alter: quiet });
    assert.equal(verdict.result, 'pass');
    assert.deepEqual(warningsOf(verdict), []);
  });

  test('clocks that are apart by more than 2 % and 5 ms are mentioned', () => {
    const alter = alterAnswers(inHead, ({ answer }) => ({ clientMs: answer.clientMs + 6 }));
    assert.deepEqual(
      warningsOf(verdictOf(plan, { alter })).map(({ code }) => code),
      ['clocks-apart'],
    );
    const close = alterAnswers(inHead, ({ answer }) => ({ clientMs: answer.clientMs + 4 }));
    assert.deepEqual(warningsOf(verdictOf(plan, { alter: close })), []);
  });
});
