/** Answers to a challenge that chose something for themselves, or answer another one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { decide } from '../../src/gate/decide.js';
import type { GateInput } from '../../src/gate/input.js';
import { matrixDigest } from '../../src/matrix/digest.js';
import { withRevisions } from '../../src/matrix/with-revisions.js';
import { buildPlan } from '../../src/plan/build.js';
import { type Challenge, challengeSeed } from '../../src/plan/challenge.js';
import type { Plan } from '../../src/plan/schema.js';
import { honest, tryDecide } from './try-decide.js';
import { attacked } from './try-gate.js';

/** Of the matrix that the first requirement means, as a challenge has it. */
function digestOf({ matrices: [matrix] }: GateInput): string {
  assert.ok(matrix);
  return matrixDigest(matrix);
}

/** The plan that answers a challenge by the matrix of the first requirement. */
function planFor({ session, arms }: Plan, challenge: Challenge, { matrices: [matrix] }: GateInput): Plan {
  assert.ok(matrix);
  const onto = withRevisions(
    matrix,
    arms.map(({ name, revision }) => ({ name, revision })),
  ).matrix;
  return buildPlan(onto, { session, seed: challengeSeed(challenge), challenge });
}

test('an answer to a challenge chooses what the matrix leaves no choice in', async (t) => {
  const site = await attacked(t);
  const { input, run } = await honest(site);
  const challenge: Challenge = {
    ...{ schemaVersion: 1, nonce: 'n'.repeat(43), repository: 'https://example.org/engine', pullRequest: 7 },
    ...{ head: site.head, base: site.base, policy: input.source.sha256 },
    matrix: { name: 'fixture', digest: digestOf(input) },
    issuedAt: '2026-11-29T11:00:00.000Z',
    expiresAt: '2026-11-30T11:00:00.000Z',
  };
  run.plan = planFor(run.plan, challenge, input);
  const offered = { ...input, challenges: [challenge] };
  assert.equal(decide(offered).result, 'pass');
  run.plan.prompts = run.plan.prompts.toReversed();
  await tryDecide(t, offered, 'other-challenge', {
    module: 'gate/judge-run',
    guard: '!followsFromMatrix(run.plan, asked)',
    instead: 'false',
  });
});

test("the answer to another pull request's challenge is offered", async (t) => {
  const site = await attacked(t);
  const { input, run } = await honest(site);
  const challenge: Challenge = {
    ...{ schemaVersion: 1, nonce: 'n'.repeat(43), repository: 'https://example.org/engine', pullRequest: 7 },
    ...{ head: 'd'.repeat(40), base: site.base },
    matrix: { name: 'fixture', digest: digestOf(input) },
    policy: input.source.sha256,
    issuedAt: '2026-11-29T11:00:00.000Z',
    expiresAt: '2026-11-30T11:00:00.000Z',
  };
  input.policy.challenge = 'required';
  const answering = (asked: Challenge): GateInput => {
    run.plan = planFor(run.plan, asked, input);
    return { ...input, challenges: [asked] };
  };
  assert.equal(decide(answering({ ...challenge, head: site.head })).result, 'pass');
  const guards = {
    head: 'challenge.head !== input.head.commit',
    base: 'challenge.base !== commitOf(referenceOf(run.statement))',
    policy: "challenge.policy !== input.source.sha256 && input.policy.challenge === 'required'",
    matrix: 'known.length > 0 && !asked',
    expiresAt: 'Date.parse(startedAt) > Date.parse(challenge.expiresAt)',
  };
  const others: Record<keyof typeof guards, Partial<Challenge>> = {
    head: {},
    base: { base: 'd'.repeat(40) },
    policy: { policy: sha256('another policy') },
    matrix: { matrix: { name: 'fixture', digest: sha256('wider budgets') } },
    expiresAt: { expiresAt: '2026-11-29T11:30:00.000Z' },
  };
  for (const [name, guard] of Object.entries(guards)) {
    const other = { ...challenge, head: site.head, ...others[name as keyof typeof guards] };
    const attack = answering(name === 'head' ? challenge : other);
    await tryDecide(t, attack, 'other-challenge', {
      module: 'gate/judge-run',
      guard,
      instead: 'false',
    });
  }
  const unissued = { ...answering({ ...challenge, head: site.head }), challenges: [] };
  await tryDecide(t, unissued, 'other-challenge', {
    module: 'gate/judge-run',
    guard: "!wasIssued && input.policy.challenge === 'required'",
    instead: 'false',
  });
});

test('the seed was chosen, and a challenge put beside it', async (t) => {
  const site = await attacked(t);
  const { input, run } = await honest(site);
  const challenge: Challenge = {
    ...{ schemaVersion: 1, nonce: 'n'.repeat(43), repository: 'https://example.org/engine', pullRequest: 7 },
    ...{ head: site.head, base: site.base, policy: input.source.sha256 },
    matrix: { name: 'fixture', digest: digestOf(input) },
    issuedAt: '2026-11-29T11:00:00.000Z',
    expiresAt: '2026-11-30T11:00:00.000Z',
  };
  run.plan.challenge = challenge;
  await tryDecide(t, { ...input, challenges: [challenge] }, 'other-challenge', {
    module: 'gate/judge-run',
    guard: 'run.plan.seed !== seed',
    instead: 'false',
  });
});
