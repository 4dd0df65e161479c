/** Runs and answers to challenges that are dated so that they lie where their key still counts. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { seal } from '../../src/manifest/seal.js';
import type { verifyTrusted } from '../../src/manifest/verify-trusted.js';
import { makeChallenge, REVISIONS } from '../fixtures/challenge.js';
import { made } from '../fixtures/public-key.js';
import { writeRun } from '../fixtures/run-folder.js';
import { backDated, entry, LONG_AGO, options, scene, tryJudge, tryVerify } from './try-trust.js';
import { type Guard, importWithout } from './without-guard.js';

test('the run that answers a challenge says that it was made an hour before', async (t) => {
  const at = await scene(t);
  const run = join(at.folder, 'answer');
  const challenge = makeChallenge({}, { issuedAt: '2026-11-29T13:00:00.000Z' });
  await writeRun(run, { revisions: REVISIONS, challenge });
  await seal(run, at.signer);
  const asked = await options(at, [entry(at.signer.publicKey)]);
  // Two guards stop it: the replay, and where that is gone the judge.
  const replay: Guard = {
    module: 'manifest/replay-challenge',
    guard: 'startedAt < Date.parse(issuedAt)',
    instead: 'false',
  };
  const judge: Guard = {
    module: 'manifest/trust-judgement',
    guard: 'judgeClock(question, now) ??',
    instead: '',
  };
  const error = await tryVerify(t, run, asked, replay, judge);
  assert.match(error.message, /before its challenge was issued/);
  const judged = await importWithout<{ verifyTrusted: typeof verifyTrusted }>(
    t,
    'manifest/verify-trusted',
    replay,
  );
  await assert.rejects(judged.verifyTrusted(run, asked), /not trusted \(back-dated\)/);
});

test('a run is dated back to before its own challenge', async (t) => {
  const key = made();
  // The beginning alone is caught by a rule of its own.
  const question = backDated(key, { startedAt: '2026-06-09T23:59:00Z' });
  await tryJudge(t, [entry(key)], { ...question, finishedAt: '2026-06-09T23:59:30Z' }, 'back-dated', {
    guard: 'finishedAt !== null && Date.parse(finishedAt) < issued',
    instead: 'false',
  });
});

test('a run that was cut short is dated back to before its own challenge', async (t) => {
  const key = made();
  await tryJudge(t, [entry(key)], backDated(key, { finishedAt: null }), 'back-dated', {
    guard: 'Date.parse(startedAt) < issued - CLOCK_TOLERANCE_MS',
    instead: 'false',
  });
});

test('a superseded key answers a challenge of later, as of a minute before it was superseded', async (t) => {
  const key = made();
  // Within what clocks may part, so that only the challenge's time tells.
  const stated = '2026-06-09T23:59:00Z';
  const since = '2026-06-10T00:00:00Z';
  const question = backDated(key, { startedAt: stated, finishedAt: null });
  await tryJudge(t, [entry(key, { revoked: { since, reason: 'superseded' } })], question, 'revoked', {
    guard: 'question.issuedAt !== null && Date.parse(question.issuedAt) >= since',
    instead: 'false',
  });
});

test('an expired key answers a challenge of later, as of a minute before it expired', async (t) => {
  const key = made();
  const stated = '2026-06-09T23:59:00Z';
  const question = backDated(key, { startedAt: stated, finishedAt: null });
  await tryJudge(t, [entry(key, { notAfter: '2026-06-09T23:59:30Z' })], question, 'expired', {
    guard: 'question.issuedAt !== null && Date.parse(question.issuedAt) > end',
    instead: 'false',
  });
});

test('a session states an end before its beginning, to lie inside of the window', async (t) => {
  const key = made();
  const question = backDated(key, {
    issuedAt: null,
    startedAt: '2026-08-01T00:00:00Z',
    finishedAt: LONG_AGO,
  });
  await tryJudge(t, [entry(key, { notAfter: '2026-07-01T00:00:00Z' })], question, 'expired', {
    guard: 'Date.parse(finishedAt) >= Date.parse(startedAt)',
    instead: 'true',
  });
});

test('a run is dated ahead, to outlast a gate that counts days', async (t) => {
  const key = made();
  const question = backDated(key, { issuedAt: null, finishedAt: '2030-01-01T00:00:00Z' });
  await tryJudge(t, [entry(key)], question, 'future-dated', {
    guard: 'Date.parse(time) > latest',
    instead: 'false',
  });
});
