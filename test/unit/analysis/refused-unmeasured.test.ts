/** What was not measured whole, or broke, is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { alterAnswers, type Draft, type JournalOptions, verdictOf } from '../../fixtures/journal.js';
import { type Case, inHead, launchOf, plan, refused, refusesEach } from '../../fixtures/refused.js';

const firstSample = plan.prompts.find(({ kind }) => kind === 'sample');

const taken: Case[] = [
  [
    'one sample missing',
    'not-measured',
    'samples-missing',
    12,
    (draft) => (draft.kind === 'sample' && launchOf(draft) === 'r3-head' && draft.index === 2 ? null : draft),
  ],
  [
    'a sample taken twice in place of another',
    'not-measured',
    'samples-missing',
    12,
    (draft) =>
      draft.kind === 'sample' && inHead(draft) && draft.purpose === 'sample' && draft.index === 2
        ? { ...draft, prompt: firstSample?.id ?? '', promptSha256: firstSample?.sha256 ?? '' }
        : draft,
  ],
  [
    'an output that ended early',
    'not-measured',
    'early-stop',
    12,
    alterAnswers(
      () => true,
      () => ({ predictedN: 0, tokens: [] }),
    ),
  ],
  [
    'a count of tokens that is not the number of tokens',
    'not-measured',
    'early-stop',
    12,
    alterAnswers(inHead, ({ answer }) => ({ predictedN: answer.predictedN + 1 })),
  ],
  [
    'no time by the clock that decides',
    'not-measured',
    'clock-absent',
    12,
    alterAnswers(inHead, () => ({ promptCpuMs: null })),
  ],
  [
    'a launch missing',
    'not-measured',
    'rounds-missing',
    12,
    (draft) => (launchOf(draft) === 'r5-head' ? null : draft),
  ],
  [
    'a launch that was repeated',
    'not-measured',
    'launched-twice',
    12,
    (draft) => (draft.kind === 'launch' && draft.launch === 'r5-head' ? { ...draft, round: 4 } : draft),
  ],
  [
    'a launch that died',
    'not-measured',
    'launch-unfinished',
    12,
    (draft) => (draft.kind === 'stop' && inHead(draft) ? { ...draft, how: 'died' } : draft),
  ],
];

describe('measurements that are missing', () => refusesEach(taken));

describe('failures of the machinery', () => {
  const failing = (code: string): JournalOptions => ({
    rounds: 2,
    alter: (draft) =>
      draft.kind === 'end' ? { kind: 'failure', launch: null, code, message: 'it broke' } : draft,
  });

  test('a failure before the look is infrastructure', () => {
    refused(verdictOf(plan, failing('ERR_QUALIFY_ENGINE_DIED')), 'infrastructure', 'engine-died', 15);
  });

  test('an interruption measured nothing, and broke nothing', () => {
    refused(verdictOf(plan, failing('ERR_QUALIFY_INTERRUPTED')), 'not-measured', 'interrupted', 12);
  });

  test('a failed build is infrastructure, not "nothing measured"', () => {
    const alter = (draft: Draft): Draft | null => {
      if (draft.kind === 'end')
        return { kind: 'failure', launch: null, code: 'ERR_QUALIFY_BUILD_FAILED', message: 'no' };
      return draft.kind === 'session' ? draft : null;
    };
    refused(verdictOf(plan, { alter }), 'infrastructure', 'build-failed', 15);
  });

  test('a journal without its end is not measured, even when every cell is there', () => {
    const verdict = verdictOf(plan, { alter: (draft) => (draft.kind === 'end' ? null : draft) });
    assert.equal(verdict.cells[0]?.verdict, 'pass');
    assert.equal(verdict.result, 'not-measured');
    assert.equal(verdict.reasons[0]?.code, 'session-incomplete');
  });

  test('an empty journal is not measured', () => {
    const verdict = verdictOf(plan, { alter: (draft) => (draft.kind === 'session' ? draft : null) });
    assert.equal(verdict.result, 'not-measured');
    assert.equal(verdict.exitCode, 12);
  });

  test('a cache hit in a session that broke is still a cache hit', () => {
    const broken = failing('ERR_QUALIFY_ENGINE_DIED').alter ?? ((draft: Draft) => draft);
    const hit = alterAnswers(inHead, () => ({ cacheN: 3 }));
    const verdict = verdictOf(plan, { rounds: 2, alter: (draft) => broken(hit(draft)) });
    assert.equal(verdict.result, 'cold-unproved');
  });
});
