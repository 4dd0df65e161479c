/** What a decision says is to be done: a command that the gate itself would count the outcome of, in every output. */
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { renderCtrf } from '../../../src/gate/ctrf.js';
import { decide } from '../../../src/gate/decide.js';
import { type GateDecision, gateDecisionSchema } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import { renderGithub } from '../../../src/gate/github/render.js';
import type { GateInput } from '../../../src/gate/input.js';
import { renderJunit } from '../../../src/gate/junit.js';
import { renderGateText } from '../../../src/gate/text.js';
import type { TrustedKey } from '../../../src/manifest/trust-policy.js';
import type { Challenge } from '../../../src/plan/challenge.js';
import { decided, policyWith, sharedSite } from '../../fixtures/gate-input.js';

const site = await sharedSite();
/** What the gate reads of a run that passes, and of one that loses in 96/32. */
const good = await gather(site.options({ manifests: [await site.run('20261129-120000-abcdef')] }));
const slow = await site.run('losing', { headShare: (tokens) => (tokens === 64 ? 0.5 : 1.1) });
const losing = await gather(site.options({ manifests: [slow] }));

const nextOf = ({ requirements }: GateDecision) => requirements[0]?.next;
const commits = (): string => `--base ${site.base.slice(0, 12)} --head ${site.head.slice(0, 12)}`;

test('nothing is to be done where a requirement holds', () => {
  assert.equal(decide(good).result, 'pass');
  assert.equal(nextOf(decide(good)), null);
});

test('what is missing is to be measured: the matrix as it is named, and the commits that count', () => {
  const missing = decided(good, (input) => {
    input.runs = [];
  });
  assert.deepEqual(nextOf(missing), {
    what: 'measure the change on any',
    command: `qualify pr --matrix matrices/fixture.yaml ${commits()}`,
  });
  const builtIn = decided(good, (input) => {
    input.runs = [];
    input.policy = policyWith(input, { require: [{ matrix: 'fixture', machine: 'any', rounds: 12 }] });
  });
  assert.equal(nextOf(builtIn)?.command, `qualify pr --matrix fixture ${commits()} --rounds 12`);
  const asked = decided(good, (input) => {
    input.runs = [];
    input.policy = policyWith(input, { challenge: 'required' });
  });
  assert.deepEqual(nextOf(asked), {
    what: 'answer a challenge for this head (qualify challenge issues it) on any',
    command: 'qualify pr --challenge FILE --matrix matrices/fixture.yaml',
  });
  const challenge = site.challenge(good, { expiresAt: '2026-12-01T11:00:00.000Z' });
  const answered = (path: string, altered: Partial<Challenge> = {}) =>
    nextOf(
      decided(good, (input) => {
        input.runs = [];
        input.policy = policyWith(input, { challenge: 'required' });
        input.challenges = [{ path, challenge: { ...challenge, ...altered } }];
      }),
    );
  assert.deepEqual(answered('asked/the question.json'), {
    what: 'answer the challenge for this head on any',
    command: "qualify pr --challenge 'asked/the question.json' --matrix matrices/fixture.yaml",
  });
  const others: Partial<Challenge>[] = [
    { head: 'd'.repeat(40) },
    { policy: 'd'.repeat(64) },
    { matrix: { ...challenge.matrix, name: 'other' } },
    { expiresAt: good.decidedAt },
  ];
  for (const other of others)
    assert.deepEqual(answered('asked/question.json', other), nextOf(asked), JSON.stringify(other));
  assert.match(answered('$(id).json')?.command ?? '', / --challenge FILE /);
  const second = decided(good, (input) => {
    input.policy = policyWith(input, { require: [{ ...input.policy.require[0], machinesAtLeast: 2 }] });
  });
  assert.equal(nextOf(second)?.what, 'measure the change on another machine of any, with a key of its own');
});

test('a name that a shell takes for more than a name is not in the command', () => {
  const odd = decided(good, (input) => {
    input.runs = [];
    const require = [{ matrix: 'fixture', machine: 'any', file: 'matrices/$(id).yaml' }];
    input.policy = policyWith(input, { require });
  });
  assert.equal(nextOf(odd)?.command, `qualify pr --matrix FILE ${commits()}`);
});

test('where only trust is lacking nothing is to be measured again', () => {
  const inRole = (input: GateInput, roles: TrustedKey['roles']): void => {
    input.trust = { ...input.trust, keys: input.trust.keys.map((key) => ({ ...key, roles })) };
  };
  const wrongRole = decided(good, (input) => inRole(input, ['verifier']));
  assert.equal(wrongRole.result, 'missing');
  assert.deepEqual(nextOf(wrongRole), {
    what: "merge a qualify.trust.json into main that lets the signer's key speak",
    command: 'qualify keys add KEY.pub --role observer --trust qualify.trust.json',
  });
  // Whoever signs with a key that nobody knows may be anybody: no comment on a change shall say to trust it.
  const stranger = decided(good, (input) => {
    input.trust = { ...input.trust, keys: [] };
  });
  assert.deepEqual(nextOf(stranger), {
    what: 'measure the change on any, with a key that qualify.trust.json of main has',
    command: `qualify pr --matrix matrices/fixture.yaml ${commits()}`,
  });
  const unbound = decided(good, (input) => {
    const id = input.runs[0]?.run?.machine.id;
    input.policy = policyWith(input, { machines: { any: { ids: [id] } } });
  });
  assert.match(nextOf(unbound)?.command ?? '', /^qualify keys add KEY\.pub .*--machine ID /);
  // Stale besides: a key would not help.
  const stale = decided(good, (input) => {
    inRole(input, ['verifier']);
    input.decidedAt = '2026-12-20T00:00:00.000Z';
  });
  assert.match(nextOf(stale)?.command ?? '', /^qualify pr /);
  const expired = decided(good, (input) => {
    input.trust = { ...input.trust, expires: '2026-11-30T00:00:00Z' };
  });
  assert.deepEqual(nextOf(expired), {
    what: 'give qualify.trust.json of main a later "expires"',
    command: null,
  });
});

test('what failed is to be changed or signed for; what was refused is measured again where that may replace it', () => {
  const failed = decide(losing);
  assert.equal(failed.result, 'fail');
  assert.deepEqual(nextOf(failed), {
    what: 'change the code and push it, or let a maintainer sign',
    command: `qualify waive --head ${site.head.slice(0, 12)} --matrix fixture --cell 96/32 --reason WHY --expires 14d --out waivers/NAME.waiver.json`,
  });
  const refused = (verdict: 'contaminated' | 'parity-failed', supersede: string[]) =>
    decided(good, (input) => {
      input.policy = policyWith(input, { supersede });
      const cell = input.runs[0]?.run?.verdict.cells[0];
      assert.ok(cell?.comparisons[0]);
      cell.verdict = verdict;
      cell.comparisons[0].verdict = verdict;
      cell.comparisons[0].effect = null;
    });
  assert.match(nextOf(refused('contaminated', ['refused']))?.command ?? '', /^qualify pr --matrix /);
  assert.deepEqual(nextOf(refused('contaminated', [])), {
    what: 'change the code and push it',
    command: null,
  });
  assert.match(nextOf(refused('parity-failed', ['refused']))?.what ?? '', /^the outputs differ: change/);
  const identical = decided(good, (input) => {
    input.policy = policyWith(input, { supersede: ['refused'] });
    const cell = input.runs[0]?.run?.verdict.cells[0];
    const comparison = cell?.comparisons[0];
    assert.ok(cell && comparison);
    cell.verdict = 'unmatched';
    comparison.verdict = 'unmatched';
    comparison.effect = null;
    comparison.reasons.push({ code: 'binary-identical', message: '' });
  });
  assert.equal(identical.result, 'refused');
  assert.deepEqual(nextOf(identical), {
    what: 'nothing changed in the binary: let an owner merge it (docs/ci.md)',
    command: null,
  });
  const undecided = (supersede: string[]) =>
    decided(losing, (input) => {
      input.policy = policyWith(input, { supersede });
      for (const cell of input.runs[0]?.run?.verdict.cells ?? [])
        if (cell.comparisons[0]) cell.comparisons[0].verdict = 'inconclusive';
    });
  assert.equal(undecided([]).result, 'inconclusive');
  assert.match(nextOf(undecided([]))?.command ?? '', /^qualify waive /);
  assert.match(nextOf(undecided(['inconclusive']))?.command ?? '', /^qualify pr /);
});

test('every output says it, and a decision of an earlier version says nothing', () => {
  const missing = decided(good, (input) => {
    input.runs = [];
  });
  for (const decision of [missing, decide(losing)]) {
    const { what, command } = nextOf(decision) ?? {};
    assert.ok(what && command);
    const github = renderGithub(decision);
    const outputs = [
      renderGateText(decision),
      ...[github['summary.md'], github['comment.md'], renderJunit(decision), renderCtrf(decision)],
    ];
    for (const output of outputs) assert.ok(output.includes(command) && output.includes(what), output);
    // To be pasted: on one line of a terminal.
    assert.ok(renderGateText(decision).split('\n').includes(`    ${command}`));
  }
  const earlier = structuredClone(missing) as { requirements: { next?: unknown }[] };
  for (const requirement of earlier.requirements) delete requirement.next;
  assert.equal(gateDecisionSchema.parse(earlier).requirements[0]?.next, null);
});

test('a reason why a run does not count has at most two lines and names the run by its folder', () => {
  const session = '20261129-120000-abcdef';
  const folder = dirname(site.manifests);
  const old = decided(good, (input) => {
    input.decidedAt = '2026-12-20T00:00:00.000Z';
    for (const facts of input.commits.values()) if (facts.behindBase === 0) facts.behindBase = 7;
    (input.runs as unknown[]).push({
      path: join(folder, 'junk'),
      run: null,
      failure: { code: 'not-verified', message: `it lacks ${'much, '.repeat(100)}` },
    });
  });
  const [said = '', listed = ''] = renderGateText(old).split('\n\nnot counted\n');
  const items = said.split(/\n {2}(?=- {4,}|next )/).slice(1, -1);
  assert.deepEqual(
    items.map((text) => / \[([a-z-]+)\]$/.exec(text)?.[1]),
    ['no-run', 'not-verified', 'base-moved', 'too-old'],
  );
  for (const text of items) assert.ok(text.split('\n').length <= 2, text);
  assert.ok(items[2]?.startsWith(`-         ${session}: its base `), items[2]);
  assert.ok(!said.includes(folder), said);
  assert.ok(listed.replaceAll(/\s/g, '').includes(join(folder, 'manifests', session)), listed);
  // Two of one name are told apart.
  const twice = decided(good, (input) => {
    input.decidedAt = '2026-12-20T00:00:00.000Z';
    for (const at of ['one', 'two'])
      (input.runs as unknown[]).push({ ...structuredClone(good.runs[0]), path: `${at}/${session}` });
  });
  const told = twice.requirements[0]?.reasons.map(({ message }) => message.split(': ')[0]) ?? [];
  assert.ok(told.includes(`one/${session}`) && told.includes(`two/${session}`), told.join());
});

test('a run that counts with its failures only makes one text: it is no evidence, and what failed is shown', () => {
  const old = decided(losing, (input) => {
    input.decidedAt = '2026-12-20T00:00:00.000Z';
  });
  assert.equal(old.result, 'fail');
  assert.deepEqual(
    old.requirements[0]?.reasons.map(({ code, message }) => `${message} [${code}]`),
    [
      'no run of fixture on any counts in full [no-run]',
      'losing: only what failed in it counts: it is 20.5 days old; the policy bears 14 [only-against]',
    ],
  );
});
