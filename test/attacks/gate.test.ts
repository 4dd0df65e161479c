/**
 * Ways to get a change past a gate that it should not pass. Each is tried on the gate, which must block it, and on the gate without the guard
 * that is named, where it must succeed: else it would be no attack, or another guard would stop it.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { decide } from '../../src/gate/decide.js';
import { gather } from '../../src/gate/gate.js';
import type { GateInput, VerifiedRun } from '../../src/gate/input.js';
import { matrixDigest } from '../../src/matrix/digest.js';
import { withRevisions } from '../../src/matrix/with-revisions.js';
import { buildPlan } from '../../src/plan/build.js';
import { type Challenge, challengeSeed } from '../../src/plan/challenge.js';
import type { Plan } from '../../src/plan/schema.js';
import { type GateSite, trusted } from '../fixtures/gate-site.js';
import { attacked, codesOf, losing, tryGate } from './try-gate.js';
import { type Guard, importWithout } from './without-guard.js';

/** The same of what was read. */
async function tryDecide(t: TestContext, input: GateInput, code: string, guard: Guard): Promise<void> {
  const decision = decide(input);
  assert.equal(decision.result, 'missing');
  assert.ok(codesOf(decision).includes(code), codesOf(decision).join());
  const unguarded = await importWithout<{ decide: typeof decide }>(t, 'gate/decide', guard);
  assert.equal(unguarded.decide(input).result, 'pass');
}

/** Of the matrix that the first requirement means, as a challenge has it. */
function digestOf({ matrices: [matrix] }: GateInput): string {
  assert.ok(matrix);
  return matrixDigest(matrix);
}

async function honest(site: GateSite): Promise<{ input: GateInput; run: VerifiedRun }> {
  await site.run('honest');
  const input = await gather(site.options());
  const run = input.runs[0]?.run;
  assert.ok(run);
  assert.equal(decide(input).result, 'pass');
  return { input, run };
}

test('a run of an earlier commit is replayed on a new head', async (t) => {
  const site = await attacked(t);
  await site.run('earlier');
  const head = site.change('slow now');
  await tryGate(
    t,
    site.options({ head }),
    { result: 'missing', code: 'stale-head' },
    {
      module: 'gate/judge-run',
      guard: 'against: [whyNotHead(input, statement)], notes: [], arms: []',
      instead: "against: [], notes: [], arms: ['head']",
    },
  );
});

test('a run against a base that main has left is replayed', async (t) => {
  const site = await attacked(t);
  await site.run('against the old base');
  site.repository.git('checkout', '--quiet', 'main');
  site.repository.write('kernels/b.h', '// main became faster\n');
  site.repository.commit('faster');
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'base-moved' },
    { module: 'gate/judge-run', guard: 'facts.behindBase <= policy.baseDrift', instead: 'true' },
  );
});

test('main changes the engine beside a waiver, by a name like one, and by a merge that takes an old side', async (t) => {
  const attempts: Record<string, (site: GateSite) => void> = {
    beside: ({ repository }) => {
      repository.write('waivers/a.waiver.json', '{}');
      repository.write('kernels/b.h', '// main became faster\n');
      repository.commit('both');
    },
    name: ({ repository }) => {
      repository.write('kernels/qualify.trust.json', '{}');
      repository.write('waivers/a.h', '// included\n');
      repository.commit('names');
    },
    merge: ({ repository, base }) => {
      const old = repository.git('rev-parse', `${base}^`);
      const merged = repository.git('commit-tree', `${old}^{tree}`, '-p', base, '-p', old, '-m', 'old side');
      repository.git('reset', '--quiet', '--hard', merged);
    },
  };
  for (const attempt of Object.values(attempts)) {
    const site = await attacked(t);
    site.repository.git('checkout', '--quiet', 'main');
    site.repository.write('kernels/c.h', '// one\n');
    site.base = site.repository.commit('an engine');
    await site.run('against the old base');
    attempt(site);
    // Without its words for what is left out, git is told to leave out everything.
    const guard = "':(top)',";
    await tryGate(
      t,
      site.options(),
      { result: 'missing', code: 'base-moved' },
      { module: 'gate/commits', guard, instead: "':(top)', ':(top,exclude,glob)**'," },
    );
  }
});

test('a run against a base of the attacker, who made it slow, is offered', async (t) => {
  const site = await attacked(t);
  site.repository.git('checkout', '--quiet', '-b', 'slow-base', 'main');
  const slow = site.change('slow base');
  site.repository.git('checkout', '--quiet', 'change');
  await site.run('against a slow base', { revisions: { base: slow, head: site.head } });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'base-moved' },
    { module: 'gate/judge-run', guard: 'facts.behindBase === null', instead: 'false' },
  );
});

test('the change brings a policy along that protects less', async (t) => {
  const site = await attacked(t);
  const require = [{ matrix: 'fixture', file: 'matrices/fixture.yaml', machine: 'any', cells: ['64/32'] }];
  site.writeRules({ require });
  site.head = site.repository.commit('fewer cells');
  await site.run('losing', losing);
  await tryGate(t, site.options(), { result: 'fail' }, atHead);
});

test('the change brings a trust policy along with a key of its author', async (t) => {
  const site = await attacked(t);
  site.writeRules({}, [trusted(site.stranger, 'observer')]);
  site.head = site.repository.commit('trust me');
  await site.run('by a stranger', { key: site.stranger });
  await tryGate(t, site.options(), { result: 'missing', code: 'unknown-key' }, atHead);
});

test('the change widens the budget in the file of the matrix', async (t) => {
  const site = await attacked(t);
  const path = 'matrices/fixture.yaml';
  const text = site.repository.git('show', `main:${path}`);
  site.repository.write(path, `${text}\nbudgets: { prefill: 30, decode: 30 }\n`);
  site.head = site.repository.commit('wide');
  const wide = { budgets: { prefill: 30, decode: 30 } };
  await site.run('wide', {
    ...losing,
    alterPlan: (plan) => {
      Object.assign(plan, wide);
      for (const cell of plan.cells) cell.marginPercent = 30;
    },
  });
  await tryGate(t, site.options(), { result: 'missing', code: 'wrong-matrix' }, atHead);
});

/** Where rules are read. */
const atHead: Guard = {
  module: 'gate/rules',
  guard: 'fileAt(repository, baseCommit, file)',
  instead: "fileAt(repository, 'change', file)",
};

test('a matrix of the same name with wider budgets passes for the one that is required', async (t) => {
  const site = await attacked(t);
  await site.run('wide', {
    ...losing,
    alterPlan: (plan) => {
      plan.budgets = { prefill: 30, decode: 30 };
      for (const cell of plan.cells) cell.marginPercent = 30;
    },
  });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'wrong-matrix' },
    {
      module: 'gate/judge-requirement',
      guard: 'const difference = differenceFrom(ontoRevisionsOf(plan, matrix), plan);',
      instead: 'const difference = null;',
    },
  );
});

test('a good run is put beside the bad one', async (t) => {
  const site = await attacked(t);
  await site.run('bad', losing);
  await site.run('good', { startedAt: '2026-11-29T13:00:00Z' });
  await tryGate(
    t,
    site.options(),
    { result: 'fail' },
    { module: 'gate/cells', guard: 'losingFirst(cell, known) < 0', instead: 'losingFirst(cell, known) > 0' },
  );
  // And that it was there is seen: without the bad run the good one passes.
  rmSync(`${site.manifests}/bad`, { recursive: true });
  assert.equal((await site.gate()).result, 'pass');
});

test('a stranger signs a run', async (t) => {
  const site = await attacked(t);
  await site.run('by a stranger', { key: site.stranger });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'unknown-key' },
    { module: 'gate/judge-run', guard: '...judgeTrust(input, run),', instead: '' },
  );
});

test('a key that may not sign runs signs one', async (t) => {
  const site = await attacked(t);
  await site.run('by the maintainer', { key: site.maintainer });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'wrong-role' },
    { module: 'manifest/trust-judgement', guard: '!entry.roles.includes(question.role)', instead: 'false' },
  );
});

test('a waiver for another cell is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('64/32');
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'not-needed' },
    { module: 'gate/decide', guard: ' && one.cell === cell.id', instead: '' },
  );
});

test('a waiver for another head is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('96/32', { head: { commit: 'd'.repeat(40), tree: 'e'.repeat(40) } });
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'other-head' },
    {
      module: 'gate/judge-waiver',
      guard: 'commit.gitCommit !== head.commit && tree.gitTree !== head.tree',
      instead: 'false',
    },
  );
});

test('a waiver that an observer signed is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('96/32', {}, site.observer);
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'wrong-role' },
    { module: 'gate/judge-waiver', guard: "role: 'maintainer'", instead: "role: 'observer'" },
  );
});

test('a waiver that has expired is offered', async (t) => {
  const site = await attacked(t);
  await site.run('losing', losing);
  await site.waive('96/32', { expiresAt: '2026-11-30T11:59:59.000Z' });
  await tryGate(
    t,
    site.options(),
    { result: 'fail', code: 'waiver-expired' },
    {
      module: 'gate/judge-waiver',
      guard: 'Date.parse(decidedAt) >= Date.parse(predicate.expiresAt)',
      instead: 'false',
    },
  );
});

for (const [name, terms] of [
  ['for longer than any waiver may be', { expiresAt: '2027-12-02T00:00:00.000Z' }],
  // As far as two clocks may part: later it would be dated ahead, or over.
  [
    'that ends before it was issued',
    { issuedAt: '2026-11-30T12:00:30.000Z', expiresAt: '2026-11-30T12:00:10.000Z' },
  ],
] as const)
  test(`a waiver ${name} is offered`, async (t) => {
    const site = await attacked(t);
    await site.run('losing', losing);
    await site.waive('96/32', terms);
    await tryGate(
      t,
      site.options(),
      { result: 'fail', code: 'waiver-term' },
      {
        module: 'gate/judge-waiver',
        guard: 'days > 0 && days <= MOST_WAIVER_DAYS',
        instead: 'true',
      },
    );
  });

test('a waiver for a refusal is offered', async (t) => {
  const site = await attacked(t);
  await site.run('contaminated', {
    alter: (draft) => (draft.kind === 'stop' ? { ...draft, left: ['burner'] } : draft),
  });
  for (const cell of ['64/32', '96/32']) await site.waive(cell);
  await tryGate(
    t,
    site.options(),
    { result: 'refused', code: 'refusal' },
    { module: 'gate/decide', guard: '!WAIVABLE.includes(cell.result)', instead: 'false' },
  );
});

test('a simulated run is offered', async (t) => {
  const { input, run } = await honest(await attacked(t));
  run.plan.simulation = { tokensPerSecond: 1, cvPercent: 1 } as never;
  await tryDecide(t, input, 'simulated', {
    module: 'gate/judge-run',
    guard: 'plan.simulation !== undefined',
    instead: 'false',
  });
});

test('borrowed evidence is offered', async (t) => {
  const { input, run } = await honest(await attacked(t));
  run.kind = 'borrowed';
  await tryDecide(t, input, 'not-matched', {
    module: 'gate/judge-run',
    guard: '!mayGate(kind)',
    instead: 'false',
  });
});

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

test('a session that shows a failed cell is broken off, and another one put after it', async (t) => {
  const { input, run } = await honest(await attacked(t));
  const broken = structuredClone(run);
  broken.digest = sha256('broken off');
  for (const time of ['startedAt', 'finishedAt'] as const)
    broken.statement.predicate[time] = new Date(
      Date.parse(run.statement.predicate.startedAt) - 60_000,
    ).toISOString();
  const [cell] = broken.verdict.cells;
  const [comparison] = cell?.comparisons ?? [];
  assert.ok(cell && comparison);
  cell.verdict = 'fail';
  comparison.verdict = 'fail';
  broken.verdict.result = 'not-measured';
  const attack = { ...input, runs: [...input.runs, { path: 'broken off', run: broken, failure: null }] };
  assert.equal(decide(attack).result, 'refused');
  const unguarded = await importWithout<{ decide: typeof decide }>(t, 'gate/decide', {
    module: 'gate/supersede',
    guard: 'STAYS.includes(verdict)',
    instead: 'false',
  });
  assert.equal(unguarded.decide(attack).result, 'pass');
});
