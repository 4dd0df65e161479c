/** Runs that are offered as the answer to a challenge that they do not answer. Each succeeds where the guard against it is taken out. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Draft } from '../../src/journal/journal.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { type VerifyOptions, verifyRun } from '../../src/manifest/verify.js';
import type { Challenge } from '../../src/plan/challenge.js';
import type { Plan } from '../../src/plan/schema.js';
import { makeChallenge, REVISIONS } from '../fixtures/challenge.js';
import { fixtureMatrix, type RunOptions, writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';
import { refusal } from '../support/refusal.js';
import { type Guard, importWithout } from './without-guard.js';

type Verifier = typeof import('../../src/manifest/verify.js');

const matrix = fixtureMatrix({ revisions: REVISIONS });

/** Seals a run whose maker holds a key of his own. */
async function sealedRun(t: TestContext, options: RunOptions): Promise<string> {
  const folder = await scratchFolder(t);
  const run = join(folder, 'run');
  await writeRun(run, { revisions: REVISIONS, ...options });
  await seal(run, await generateKey('attacker', join(folder, 'keys')));
  return run;
}

interface Offer {
  run: string;
  options: VerifyOptions;
}

/** Each attack fails for the reason given, and succeeds once the guards are gone. */
async function stoppedBy(
  t: TestContext,
  offers: Offer | readonly Offer[],
  reason: RegExp,
  ...guards: Guard[]
): Promise<void> {
  const without = await importWithout<Verifier>(t, 'manifest/verify', ...guards);
  for (const { run, options } of [offers].flat()) {
    const error = await refusal(verifyRun(run, options));
    assert.equal(error.exit, 'invalid');
    assert.match(error.message, reason);
    const { statement } = await without.verifyRun(run, options);
    assert.equal(statement.predicate.session, 'fixture-1');
  }
}

const SAME = {
  module: 'manifest/confirm-challenge',
  guard: 'if (difference !== null)',
  instead: 'if (false)',
};
const SEED = {
  module: 'manifest/replay-challenge',
  guard: 'if (plan.seed !== seed)',
  instead: 'if (false)',
};
const COMMIT = {
  module: 'manifest/replay-challenge',
  guard: 'if (commit === asked && !dirty)',
  instead: 'if (true)',
};

describe('an honest answer', () => {
  test('is confirmed', async (t) => {
    const challenge = makeChallenge();
    const run = await sealedRun(t, { challenge });
    const { checks } = await verifyRun(run, { challenge: { challenge, matrix } });
    assert.match(checks.find(({ name }) => name === 'challenge')?.found ?? '', /in every field/);
    const unconfirmed = await verifyRun(run);
    assert.match(
      unconfirmed.checks.find(({ name }) => name === 'challenge')?.found ?? '',
      /nobody confirmed that it was issued/,
    );
  });

  test('may have a null arm, which is the base once more', async (t) => {
    const shape = { rounds: 2, nullRounds: 2 };
    const challenge = makeChallenge(shape);
    const run = await sealedRun(t, { ...shape, challenge });
    const asked = fixtureMatrix({ revisions: REVISIONS, ...shape });
    await verifyRun(run, { challenge: { challenge, matrix: asked } });
  });
});

describe('a run that answered another challenge', () => {
  const others: [string, Partial<Challenge>][] = [
    ['pull request', { pullRequest: 8 }],
    ['repository', { repository: 'https://github.com/org/fork' }],
    ['head', { head: 'd'.repeat(40) }],
    ['base', { base: 'e'.repeat(40) }],
    ['policy', { policy: 'a'.repeat(64) }],
    ['time of issue', { issuedAt: '2026-11-29T11:00:00.000Z' }],
    ['time of expiry', { expiresAt: '2026-12-07T10:00:00.000Z' }],
    ['nonce', { nonce: 'A'.repeat(43) }],
  ];
  test(`is not taken for one of another ${others.map(([what]) => what).join(', ')}`, async (t) => {
    const run = await sealedRun(t, { challenge: makeChallenge() });
    const offers = others.map(([, changes]) => ({
      run,
      options: { challenge: { challenge: makeChallenge({}, changes), matrix } },
    }));
    await stoppedBy(t, offers, /answers another challenge/, SAME);
  });

  test('is not taken where it answered none', async (t) => {
    const run = await sealedRun(t, {});
    const none = {
      module: 'manifest/confirm-challenge',
      guard: 'if (plan.challenge === undefined)',
      instead: 'if (false)',
    };
    await stoppedBy(
      t,
      { run, options: { challenge: { challenge: makeChallenge(), matrix } } },
      /answers no challenge/,
      none,
      SAME,
    );
  });
});

/** Puts a challenge, or another one, into a plan that was made without it. */
const paste =
  (challenge: Challenge) =>
  (plan: Plan): void => {
    plan.challenge = challenge;
  };

describe('a challenge that was pasted in', () => {
  test('does not go with a seed of the runner, whose prompts he knew beforehand', async (t) => {
    const challenge = makeChallenge();
    const run = await sealedRun(t, { alterPlan: paste(challenge) });
    await stoppedBy(t, { run, options: { challenge: { challenge, matrix } } }, /its challenge gives/, SEED);
  });

  test('is not taken with another pull request, policy or expiry than it seeded', async (t) => {
    const changed: Partial<Challenge>[] = [
      { pullRequest: 8 },
      { policy: null },
      { expiresAt: '2027-12-06T10:00:00.000Z' },
    ];
    const challenge = makeChallenge();
    const runs = changed.map((changes) =>
      sealedRun(t, { challenge, alterPlan: paste(makeChallenge({}, changes)) }),
    );
    const offers = (await Promise.all(runs)).map((run) => ({ run, options: {} }));
    await stoppedBy(t, offers, /its challenge gives/, SEED);
  });
});

describe('a run of something else than its challenge asks for', () => {
  test('is refused when head or base is another commit, or they are swapped', async (t) => {
    const changed: Partial<Challenge>[] = [
      { head: 'd'.repeat(40) },
      { base: 'd'.repeat(40) },
      { base: REVISIONS.head, head: REVISIONS.base },
    ];
    const runs = changed.map(async (changes) => {
      const challenge = makeChallenge({}, changes);
      return { run: await sealedRun(t, { challenge }), options: { challenge: { challenge, matrix } } };
    });
    await stoppedBy(t, await Promise.all(runs), /but the challenge asks for/, COMMIT);
  });

  test('is refused when a tree had changes that the commit does not have', async (t) => {
    const challenge = makeChallenge();
    const dirty = (draft: Draft): Draft =>
      draft.kind === 'build' ? { ...draft, revision: { ...draft.revision, dirty: true } } : draft;
    const run = await sealedRun(t, { challenge, alter: dirty });
    await stoppedBy(t, { run, options: {} }, /but the challenge asks for/, COMMIT);
  });

  test('is refused when it is of a matrix of another name', async (t) => {
    const challenge = makeChallenge({}, { matrix: { name: 'strict', digest: 'a'.repeat(64) } });
    const run = await sealedRun(t, { challenge });
    const guard = {
      module: 'manifest/replay-challenge',
      guard: 'if (plan.matrix.name !== challenge.matrix.name)',
      instead: 'if (false)',
    };
    await stoppedBy(t, { run, options: {} }, /its challenge asks for strict/, guard);
  });

  test('is refused when it is of a matrix of that name with fewer rounds', async (t) => {
    const challenge = makeChallenge({ rounds: 2 });
    const run = await sealedRun(t, { challenge, rounds: 1 });
    const asked = fixtureMatrix({ revisions: REVISIONS, rounds: 2 });
    const guard = {
      module: 'manifest/confirm-challenge',
      guard: 'if (!followsFromMatrix(plan, matrix))',
      instead: 'if (false)',
    };
    await stoppedBy(
      t,
      { run, options: { challenge: { challenge, matrix: asked } } },
      /does not follow from the matrix/,
      guard,
    );
  });

  test('is refused when it states the digest of the matrix and has wider budgets', async (t) => {
    const challenge = makeChallenge();
    const wider = (plan: Plan): void => {
      plan.budgets.prefill = 30;
      for (const cell of plan.cells) cell.marginPercent = 30;
    };
    const run = await sealedRun(t, { challenge, alterPlan: wider });
    const guard = {
      module: 'manifest/confirm-challenge',
      guard: 'if (!followsFromMatrix(plan, matrix))',
      instead: 'if (false)',
    };
    await stoppedBy(
      t,
      { run, options: { challenge: { challenge, matrix } } },
      /does not follow from the matrix/,
      guard,
    );
  });

  test('is refused when it was told to leave cells out', async (t) => {
    const challenge = makeChallenge();
    const run = await sealedRun(t, {
      challenge,
      alterPlan: (plan) => Object.assign(plan, { leftOut: ['64/32'] }),
    });
    const guard = {
      module: 'manifest/replay-challenge',
      guard: 'if (leftOut !== undefined)',
      instead: 'if (false)',
    };
    await stoppedBy(t, { run, options: {} }, /leaves out 64\/32/, guard);
  });
});

describe('a run at another time than its challenge allows', () => {
  const times: [string, Partial<Challenge>, RegExp, string][] = [
    [
      'after it expired',
      { expiresAt: '2026-11-29T11:59:59.000Z' },
      /after its challenge expired/,
      'if (startedAt > Date.parse(expiresAt))',
    ],
    [
      'before it was issued',
      { issuedAt: '2026-11-29T12:00:01.000Z' },
      /before its challenge was issued/,
      'if (startedAt < Date.parse(issuedAt))',
    ],
  ];
  for (const [what, changes, reason, guard] of times) {
    test(`is refused when it began ${what}`, async (t) => {
      const challenge = makeChallenge({}, changes);
      const run = await sealedRun(t, { challenge });
      await stoppedBy(t, { run, options: { challenge: { challenge, matrix } } }, reason, {
        module: 'manifest/replay-challenge',
        guard,
        instead: 'if (false)',
      });
    });
  }
});
