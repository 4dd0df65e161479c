/** Answers to a challenge that chose something for themselves, or answer another one. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { decide } from '../../src/gate/decide.js';
import type { GateInput } from '../../src/gate/input.js';
import { withRevisions } from '../../src/matrix/with-revisions.js';
import { buildPlan } from '../../src/plan/build.js';
import { type Challenge, challengeSeed } from '../../src/plan/challenge.js';
import type { Plan } from '../../src/plan/schema.js';
import { honest, tryDecide } from './try-decide.js';
import { attacked } from './try-gate.js';

/** The plan that answers a challenge by the matrix of the first requirement. */
function planFor({ session, arms }: Plan, challenge: Challenge, { matrices: [matrix] }: GateInput): Plan {
  assert.ok(matrix);
  const onto = withRevisions(
    matrix,
    arms.map(({ name, revision }) => ({ name, revision })),
  ).matrix;
  return buildPlan(onto, { session, seed: challengeSeed(challenge), challenge });
}

/** A challenge for a change, and what a gate reads of an honest run of it that answers none. */
async function challenged(t: TestContext) {
  const site = await attacked(t);
  const { input, run } = await honest(site);
  return { input, run, challenge: site.challenge(input) };
}

test('an answer to a challenge chooses what the matrix leaves no choice in', async (t) => {
  const { input, run, challenge } = await challenged(t);
  run.plan = planFor(run.plan, challenge, input);
  const offered = { ...input, challenges: [{ path: 'challenge.json', challenge }] };
  assert.equal(decide(offered).result, 'pass');
  run.plan.prompts = run.plan.prompts.toReversed();
  await tryDecide(t, offered, 'other-challenge', {
    module: 'gate/judge-run',
    guard: '!followsFromMatrix(run.plan, asked)',
    instead: 'false',
  });
});

test("the answer to another pull request's challenge is offered", async (t) => {
  const { input, run, challenge } = await challenged(t);
  input.policy.challenge = 'required';
  const answering = (asked: Challenge): GateInput => {
    run.plan = planFor(run.plan, asked, input);
    return { ...input, challenges: [{ path: 'challenge.json', challenge: asked }] };
  };
  assert.equal(decide(answering(challenge)).result, 'pass');
  const guards = {
    head: 'challenge.head !== input.head.commit',
    base: 'challenge.base !== commitOf(referenceOf(run.statement))',
    policy: "challenge.policy !== input.source.sha256 && input.policy.challenge === 'required'",
    matrix: 'known.length > 0 && !asked',
    expiresAt: 'Date.parse(startedAt) > Date.parse(challenge.expiresAt)',
  };
  const others: Record<keyof typeof guards, Partial<Challenge>> = {
    head: { head: 'd'.repeat(40) },
    base: { base: 'd'.repeat(40) },
    policy: { policy: sha256('another policy') },
    matrix: { matrix: { name: 'fixture', digest: sha256('wider budgets') } },
    expiresAt: { expiresAt: '2026-11-29T11:30:00.000Z' },
  };
  for (const [name, guard] of Object.entries(guards)) {
    const attack = answering({ ...challenge, ...others[name as keyof typeof guards] });
    await tryDecide(t, attack, 'other-challenge', {
      module: 'gate/judge-run',
      guard,
      instead: 'false',
    });
  }
  const unissued = { ...answering(challenge), challenges: [] };
  await tryDecide(t, unissued, 'other-challenge', {
    module: 'gate/judge-run',
    guard: "!wasIssued && input.policy.challenge === 'required'",
    instead: 'false',
  });
});

test('the seed was chosen, and a challenge put beside it', async (t) => {
  const { input, run, challenge } = await challenged(t);
  run.plan.challenge = challenge;
  await tryDecide(t, { ...input, challenges: [{ path: 'challenge.json', challenge }] }, 'other-challenge', {
    module: 'gate/judge-run',
    guard: 'run.plan.seed !== seed',
    instead: 'false',
  });
});
