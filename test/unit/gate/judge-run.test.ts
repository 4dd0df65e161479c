/** Whether a verified run counts for the head: as it is, and when something of it, or around it, changes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sameEngine } from '../../../src/analysis/matching.js';
import { sha256 } from '../../../src/digest.js';
import { EXIT } from '../../../src/exit-codes.js';
import { renderCtrf } from '../../../src/gate/ctrf.js';
import type { GateDecision } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import { renderSummary } from '../../../src/gate/github/render.js';
import type { GateInput, VerifiedRun } from '../../../src/gate/input.js';
import { renderJunit } from '../../../src/gate/junit.js';
import { renderGateText } from '../../../src/gate/text.js';
import type { Plan } from '../../../src/plan/schema.js';
import { planOf } from '../../fixtures/control-journal.js';
import { decided, firstRun, policyWith, runCodes, sharedSite } from '../../fixtures/gate-input.js';
import { type Draft, verdictOf } from '../../fixtures/journal.js';

const site = await sharedSite();
await site.run('good');
const good = await gather(site.options());

function setVoidShare({ decision }: Plan, voidShare: number | undefined): void {
  if (voidShare === undefined) delete decision.voidShare;
  else decision.voidShare = voidShare;
}

test('a run that compares an engine with itself counts, and every text says what it is', () => {
  const message = 'base and head build the same engine: this compares it with itself';
  const decision = decided(good, (input) => {
    firstRun(input).verdict.warnings.push(
      { code: 'same-engine', message },
      { code: 'few-rounds', message: '' },
    );
  });
  assert.deepEqual([decision.result, runCodes(decision)], ['pass', ['same-engine']]);
  assert.match(
    renderGateText(decision).replaceAll(/\s+/g, ' '),
    /: pass; base and head .* itself \[same-engine\]/,
  );
  assert.match(
    renderSummary(decision),
    /^- run: .*; base and head build the same engine.* \(same-engine\)$/m,
  );
});

test('of a run of several arms only warnings of that of the change are told', () => {
  const warned = (code: string, message: string) =>
    decided(good, (input) => {
      const run = firstRun(input);
      const arms = run.statement.predicate.arms;
      const [, head] = arms;
      assert.ok(head?.build?.revision);
      const { build } = structuredClone(head);
      assert.ok(build);
      build.revision.commit = 'd'.repeat(40);
      arms.push({ ...head, name: 'step', build });
      run.verdict.warnings.push({ code, message });
    });
  const same = (arm: string) => warned('same-engine', sameEngine(arm, 'base').message);
  const untested = (arm: string) =>
    warned('lever-untested', `${arm} brings DFLASH_NEW, and no arm has it off`);
  for (const [code, told] of Object.entries({ 'same-engine': same, 'lever-untested': untested })) {
    assert.deepEqual(runCodes(told('step')), []);
    assert.deepEqual(runCodes(told('head')), [code]);
  }
});

test('what lessens the worth of a pass is told by every output, and changes no result', () => {
  const plan = planOf({ arms: { base: { revision: 'a' }, head: { revision: 'b' } }, nullRounds: 0 });
  const alter = (draft: Draft): Draft =>
    draft.kind !== 'ready' || !draft.launch.endsWith('-head')
      ? draft
      : { ...draft, witness: { ...draft.witness, switches: { DFLASH_NEW: '1' } } };
  const found = verdictOf(plan, { alter }).warnings;
  const codes = ['parity-not-exact', 'lever-untested', 'no-null-arm'];
  const decision = decided(good, (input) => {
    const run = firstRun(input);
    run.verdict.warnings.push(...found);
    run.plan.protocol.parity = 'tokens';
    for (const matrix of input.matrices) matrix.protocol.parity = 'tokens';
  });
  assert.deepEqual([decision.result, runCodes(decision)], ['pass', codes]);
  const renderJson = (one: GateDecision): string => JSON.stringify(one);
  for (const render of [renderGateText, renderSummary, renderJunit, renderCtrf, renderJson]) {
    const output = render(decision).replaceAll(/\s+/g, ' ');
    for (const code of codes) assert.ok(output.includes(code), `${render.name}: ${output}`);
  }
});

test('a base that is not here is unknown, and nothing is said of where it lies', () => {
  const here = decided(good, ({ commits, base }) => {
    const facts = commits.get(base.commit);
    if (facts) facts.isInHead = false;
  });
  assert.deepEqual(runCodes(here), ['base-not-in-head']);
  const elsewhere = decided(good, ({ commits, base }) => {
    (commits as Map<string, unknown>).set(base.commit, { tree: null, behindBase: null, isInHead: false });
  });
  assert.deepEqual(runCodes(elsewhere), ['base-unknown']);
});

test('another commit of the same tree counts on the same base only, and says so', () => {
  const asOther = (input: GateInput): void => {
    input.head = { commit: 'd'.repeat(40), tree: input.head.tree };
  };
  const decision = decided(good, asOther);
  assert.equal(decision.result, 'pass');
  assert.deepEqual(runCodes(decision), ['same-tree']);
  const moved = decided(good, (input) => {
    asOther(input);
    input.base = { ...input.base, commit: 'f'.repeat(40) };
  });
  assert.equal(moved.result, 'missing');
  assert.ok(runCodes(moved).includes('stale-head'));
});

describe('a run does not count', () => {
  const cases: Record<string, (input: GateInput, run: VerifiedRun) => void> = {
    'stale-head': (input) => {
      input.head = { commit: 'd'.repeat(40), tree: 'e'.repeat(40) };
    },
    'base-moved': (input) => {
      for (const facts of input.commits.values()) if (facts.behindBase === 0) facts.behindBase = 1;
    },
    'base-unknown': (input) => {
      (input.commits as Map<string, unknown>).delete(input.base.commit);
    },
    'too-old': (input) => {
      input.decidedAt = '2026-12-20T00:00:00.000Z';
    },
    'future-dated': (input) => {
      input.decidedAt = '2026-11-29T11:00:00.000Z';
    },
    simulated: (_, { plan }) => {
      plan.simulation = { tokensPerSecond: 1, cvPercent: 1 } as never;
    },
    planted: (_, { plan }) => {
      for (const arm of plan.arms.slice(1)) arm.plantedSlowdownPercent = 3;
    },
    design: (_, { plan }) => {
      plan.design = { kind: 'one-at-a-time', factors: [], rows: [] };
    },
    'small-protocol': (_, { verdict }) => {
      verdict.protocol = 'small';
    },
    'left-out': (_, { plan }) => {
      plan.leftOut = ['2048/32'];
    },
    'not-matched': (_, run) => {
      run.kind = 'directional';
    },
    'dirty-tree': (_, { statement }) => {
      const revision = statement.predicate.arms[1]?.build?.revision;
      if (revision) Object.assign(revision, { commit: null, dirty: true });
    },
    prebuilt: (_, { statement }) => {
      const revision = statement.predicate.arms[0]?.build?.revision;
      if (revision) Object.assign(revision, { commit: null, dirty: false, requested: 'prebuilt:/x' });
    },
    'one-revision': (_, { statement }) => {
      const [base, head] = statement.predicate.arms;
      if (base && head) head.build = base.build;
    },
    'not-built': (_, { statement }) => {
      for (const arm of statement.predicate.arms) arm.build = null;
    },
    'unknown-key': (input) => {
      input.trust = { ...input.trust, keys: [] };
    },
    'wrong-role': (input) => {
      for (const key of input.trust.keys) key.roles = ['verifier'];
    },
    'wrong-machine of the key': (input) => {
      for (const key of input.trust.keys) key.machines = [sha256('another')];
    },
    revoked: (input) => {
      for (const key of input.trust.keys)
        key.revoked = { since: '2026-11-30T00:00:00Z', reason: 'compromised' };
    },
    expired: (input) => {
      for (const key of input.trust.keys) key.notAfter = '2026-11-29T00:00:00Z';
    },
    'not-yet-valid': (input) => {
      for (const key of input.trust.keys) key.notBefore = '2026-11-30T00:00:00Z';
    },
    'policy-expired': (input) => {
      input.trust.expires = '2026-11-30T00:00:00Z';
    },
    'no-challenge': (input) => {
      input.policy = policyWith(input, { challenge: 'required' });
    },
    'too-few-rounds': (input) => {
      input.policy = policyWith(input, { require: [{ matrix: 'fixture', machine: 'any', rounds: 12 }] });
    },
    'cell-missing': (input) => {
      input.policy = policyWith(input, {
        require: [{ matrix: 'fixture', machine: 'any', cells: ['8192/32'] }],
      });
    },
    'wrong-matrix': (_, { plan }) => {
      plan.budgets.prefill = 50;
    },
    'wrong-matrix by more rounds that may be void': (_, { plan }) => {
      plan.decision.voidShare = 0.2;
    },
    'wrong-machine': (input) => {
      input.policy = policyWith(input, { machines: { any: { gpu: 'Radeon', memoryAtLeastGib: 120 } } });
    },
  };
  for (const [code, alter] of Object.entries(cases))
    test(code, () => {
      const decision = decided(good, (input) => alter(input, firstRun(input)));
      assert.deepEqual([decision.result, decision.exitCode], ['missing', EXIT.notMeasured]);
      const [word = ''] = code.split(' ');
      assert.ok(runCodes(decision).includes(word), runCodes(decision).join());
      assert.equal(decision.evidence[0]?.counts, false);
      const told = decision.requirements[0]?.reasons.map((reason) => reason.code) ?? [];
      assert.equal(told[0], 'no-run');
      assert.ok(told.includes(word), told.join());
      assert.ok(renderGateText(decision).replaceAll(/\s+/g, ' ').includes(`[${word}]`));
    });

  test('but one of a version that let fewer rounds be void counts', () => {
    for (const voidShare of [0.05, undefined])
      assert.equal(decided(good, (input) => setVoidShare(firstRun(input).plan, voidShare)).result, 'pass');
  });

  test('but is not called stale, moved, old or few at the very limit', () => {
    const decision = decided(good, (input) => {
      input.policy = policyWith(input, { baseDrift: 2, maxAgeDays: 1.1 });
      for (const facts of input.commits.values()) if (facts.behindBase === 0) facts.behindBase = 2;
    });
    assert.equal(decision.result, 'pass');
  });
});
