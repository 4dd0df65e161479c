/** The decision by itself: one verified run as it is, and what changes when something of it, or around it, does. */
import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { EXIT } from '../../../src/exit-codes.js';
import { decide } from '../../../src/gate/decide.js';
import type { GateDecision } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import { renderSummary } from '../../../src/gate/github/render.js';
import type { GateInput, VerifiedRun } from '../../../src/gate/input.js';
import { type GatePolicy, gatePolicySchema } from '../../../src/gate/policy.js';
import { renderGateText } from '../../../src/gate/text.js';
import type { Plan } from '../../../src/plan/schema.js';
import { type VerdictName, verdictNames } from '../../../src/verdict/schema.js';
import { GateSite, NOW, trusted } from '../../fixtures/gate-site.js';
import { removeFolder } from '../../support/folder.js';

let folder = '';
let site: GateSite;
let good: GateInput;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'qualify-gate-'));
  site = await GateSite.make(folder);
  await site.run('good');
  good = await gather(site.options());
});
after(() => removeFolder(folder));

function setVoidShare({ decision }: Plan, voidShare: number | undefined): void {
  if (voidShare === undefined) delete decision.voidShare;
  else decision.voidShare = voidShare;
}

const first = (input: GateInput): VerifiedRun => {
  const run = input.runs[0]?.run;
  assert.ok(run);
  return run;
};

/** The decision of an altered copy. */
function decided(alter: (input: GateInput) => void): GateDecision {
  const input = structuredClone(good);
  alter(input);
  return decide(input);
}

const codes = (decision: GateDecision): string[] =>
  decision.evidence.flatMap(({ reasons }) => reasons.map(({ code }) => code));

const policyOf = (policy: Partial<Record<keyof GatePolicy, unknown>>): GatePolicy =>
  gatePolicySchema.parse({ ...good.policy, ...policy });

/** Another run of the same change: other evidence, begun by so many minutes later. */
function another(run: VerifiedRun, minutes: number, result: VerdictName, machine?: string): VerifiedRun {
  const copy = structuredClone(run);
  copy.digest = sha256(`${run.digest} ${minutes} ${result}`);
  const { predicate } = copy.statement;
  const later = (time: string): string => new Date(Date.parse(time) + minutes * 60_000).toISOString();
  predicate.startedAt = later(predicate.startedAt);
  predicate.finishedAt = later(predicate.finishedAt ?? predicate.startedAt);
  if (machine !== undefined) {
    copy.machine.id = machine;
    predicate.machine.id = machine;
  }
  return withResult(copy, result);
}

function withResult(run: VerifiedRun, result: VerdictName): VerifiedRun {
  const [cell] = run.verdict.cells;
  const comparison = cell?.comparisons[0];
  assert.ok(cell && comparison);
  cell.verdict = result;
  comparison.verdict = result;
  comparison.detail = result === 'fail' ? 'beyond-budget' : null;
  if (!['pass', 'fail', 'inconclusive'].includes(result)) comparison.effect = null;
  run.verdict.result = result;
  return run;
}

const add = (input: GateInput, run: VerifiedRun, path = 'other'): void => {
  (input.runs as GateInput['runs'][number][]).push({ path, run, failure: null });
};

test('one good run of this head passes', () => {
  const decision = decide(good);
  assert.deepEqual([decision.result, decision.exitCode], ['pass', EXIT.pass]);
  assert.deepEqual(
    decision.evidence.map(({ counts, reasons }) => [counts, reasons]),
    [[true, []]],
  );
  assert.match(renderGateText(decision), /^PASS \(exit 0\): 1 of 1 requirement holds\n/);
});

test('a base that is not here is unknown, and nothing is said of where it lies', () => {
  const here = decided(({ commits, base }) => {
    const facts = commits.get(base.commit);
    if (facts) facts.isInHead = false;
  });
  assert.deepEqual(codes(here), ['base-not-in-head']);
  const elsewhere = decided(({ commits, base }) => {
    (commits as Map<string, unknown>).set(base.commit, { tree: null, behindBase: null, isInHead: false });
  });
  assert.deepEqual(codes(elsewhere), ['base-unknown']);
});

test('a run that compares an engine with itself counts, and every text says what it is', () => {
  const message = 'base and head build the same engine: this compares it with itself';
  const decision = decided((input) => {
    first(input).verdict.warnings.push({ code: 'same-engine', message }, { code: 'few-rounds', message: '' });
  });
  assert.deepEqual([decision.result, codes(decision)], ['pass', ['same-engine']]);
  assert.match(
    renderGateText(decision).replaceAll(/\s+/g, ' '),
    /: pass; base and head .* itself \[same-engine\]/,
  );
  assert.match(
    renderSummary(decision),
    /^- run: .*; base and head build the same engine.* \(same-engine\)$/m,
  );
});

test('of a run of several arms only that of the change is said to be the engine that it is compared with', () => {
  const warned = (arm: string) =>
    decided((input) => {
      const run = first(input);
      const arms = run.statement.predicate.arms;
      const [, head] = arms;
      assert.ok(head?.build?.revision);
      const { build } = structuredClone(head);
      assert.ok(build);
      build.revision.commit = 'd'.repeat(40);
      arms.push({ ...head, name: 'step', build });
      run.verdict.warnings.push({
        code: 'same-engine',
        message: `base and ${arm} build the same engine: this compares it with itself`,
      });
    });
  assert.deepEqual(codes(warned('step')), []);
  assert.deepEqual(codes(warned('head')), ['same-engine']);
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
      run.kind = 'borrowed';
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
      input.policy = policyOf({ challenge: 'required' });
    },
    'too-few-rounds': (input) => {
      input.policy = policyOf({ require: [{ matrix: 'fixture', machine: 'any', rounds: 12 }] });
    },
    'cell-missing': (input) => {
      input.policy = policyOf({ require: [{ matrix: 'fixture', machine: 'any', cells: ['8192/32'] }] });
    },
    'wrong-matrix': (_, { plan }) => {
      plan.budgets.prefill = 50;
    },
    'wrong-matrix by more rounds that may be void': (_, { plan }) => {
      plan.decision.voidShare = 0.2;
    },
    'wrong-machine': (input) => {
      input.policy = policyOf({ machines: { any: { gpu: 'Radeon', memoryAtLeastGib: 120 } } });
    },
  };
  for (const [code, alter] of Object.entries(cases))
    test(code, () => {
      const decision = decided((input) => alter(input, first(input)));
      assert.deepEqual([decision.result, decision.exitCode], ['missing', EXIT.notMeasured]);
      const [word = ''] = code.split(' ');
      assert.ok(codes(decision).includes(word), codes(decision).join());
      assert.equal(decision.evidence[0]?.counts, false);
      const told = decision.requirements[0]?.reasons.map((reason) => reason.code) ?? [];
      assert.equal(told[0], 'no-run');
      assert.ok(told.includes(word), told.join());
      assert.ok(renderGateText(decision).replaceAll(/\s+/g, ' ').includes(`[${word}]`));
    });

  test('but one of a version that let fewer rounds be void counts', () => {
    for (const voidShare of [0.05, undefined])
      assert.equal(decided((input) => setVoidShare(first(input).plan, voidShare)).result, 'pass');
  });

  test('but is not called stale, moved, old or few at the very limit', () => {
    const decision = decided((input) => {
      input.policy = policyOf({ baseDrift: 2, maxAgeDays: 1.1 });
      for (const facts of input.commits.values()) if (facts.behindBase === 0) facts.behindBase = 2;
    });
    assert.equal(decision.result, 'pass');
  });
});

test('another commit of the same tree counts on the same base only, and says so', () => {
  const asOther = (input: GateInput): void => {
    input.head = { commit: 'd'.repeat(40), tree: input.head.tree };
  };
  const decision = decided(asOther);
  assert.equal(decision.result, 'pass');
  assert.deepEqual(codes(decision), ['same-tree']);
  const moved = decided((input) => {
    asOther(input);
    input.base = { ...input.base, commit: 'f'.repeat(40) };
  });
  assert.equal(moved.result, 'missing');
  assert.ok(codes(moved).includes('stale-head'));
});

describe('of several runs', () => {
  test('the worst decides each cell, in whatever order they are found', () => {
    for (const isFirst of [true, false]) {
      const decision = decided((input) => {
        const failing = another(first(input), isFirst ? -10 : 10, 'fail');
        add(input, failing);
        if (isFirst) (input.runs as unknown[]).reverse();
      });
      assert.deepEqual([decision.result, decision.exitCode], ['fail', EXIT.overBudget]);
      assert.equal(decision.evidence.filter(({ counts }) => counts).length, 2);
      assert.equal(decision.requirements[0]?.cells[0]?.verdict, 'fail');
      assert.equal(decision.evidence[decision.requirements[0]?.cells[0]?.run ?? -1]?.result, 'fail');
    }
  });

  test('the same run twice is one', () => {
    const decision = decided((input) => add(input, structuredClone(first(input)), 'copy'));
    assert.deepEqual(
      decision.evidence.map(({ counts }) => counts),
      [true, false],
    );
    assert.deepEqual(codes(decision), ['duplicate']);
  });

  test('a refusal that showed nothing is replaced by a later run on the same machine', () => {
    for (const refused of ['contaminated', 'infrastructure', 'not-measured', 'unmatched'] as const) {
      const later = decided((input) => add(input, another(first(input), -10, refused)));
      assert.equal(later.result, 'pass', refused);
      assert.deepEqual(codes(later), ['superseded']);
      const earlier = decided((input) => add(input, another(first(input), 10, refused)));
      assert.equal(earlier.result, 'refused', refused);
      const elsewhere = decided((input) => add(input, another(first(input), -10, refused, sha256('x'))));
      assert.equal(elsewhere.result, 'refused', refused);
    }
  });

  test('a failed cell, a parity failure and, unless the policy says so, an undecided cell stay', () => {
    const expected = { fail: 'fail', 'parity-failed': 'refused', inconclusive: 'inconclusive' } as const;
    for (const [verdict, result] of Object.entries(expected)) {
      const decision = decided((input) => add(input, another(first(input), -10, verdict as VerdictName)));
      assert.equal(decision.result, result, verdict);
    }
    const bears = decided((input) => {
      input.policy = policyOf({ supersede: ['refused', 'inconclusive'] });
      add(input, another(first(input), -10, 'inconclusive'));
    });
    assert.equal(bears.result, 'pass');
    const still = decided((input) => {
      input.policy = policyOf({ supersede: ['refused', 'inconclusive'] });
      add(input, another(first(input), -10, 'fail'));
    });
    assert.equal(still.result, 'fail');
  });

  test('a session that broke off is refused though each of its cells passed', () => {
    const decision = decided((input) => {
      const { verdict } = first(input);
      verdict.result = 'not-measured';
      verdict.reasons = [{ code: 'session-incomplete', message: 'the session did not reach its end' }];
    });
    assert.deepEqual([decision.result, decision.exitCode], ['refused', EXIT.notMeasured]);
    assert.equal(decision.requirements[0]?.reasons[0]?.code, 'session-incomplete');
  });

  test('two machines are asked for by their ids and keys, and what failed on one needs no second', () => {
    const require = [{ matrix: 'fixture', machine: 'any', machinesAtLeast: 2 }];
    const on = (machine: string | undefined, result: VerdictName = 'pass'): GateDecision =>
      decided((input) => {
        input.policy = policyOf({ require });
        const run = another(first(input), 10, result, machine);
        input.trust.keys.push(trusted(site.stranger, 'observer'));
        run.statement.predicate.signer = site.stranger.publicKey.keyId;
        add(input, run);
      });
    assert.equal(on(sha256('second')).result, 'pass');
    assert.equal(on(undefined).result, 'missing');
    assert.equal(on(undefined).requirements[0]?.reasons[0]?.code, 'too-few-machines');
    assert.equal(on(undefined, 'fail').result, 'fail');
  });
});

test('each refusal has the exit code of its run', () => {
  for (const verdict of verdictNames) {
    const decision = decided((input) => {
      withResult(first(input), verdict);
    });
    const code = {
      ...{ pass: 0, fail: 10, inconclusive: 11, 'not-measured': 12, unsupported: 12, 'parity-failed': 13 },
      ...{ infrastructure: 15, contaminated: 14, unmatched: 14, 'cold-unproved': 14 },
    }[verdict];
    assert.equal(decision.exitCode, code, verdict);
    if (decision.result === 'refused') assert.equal(decision.requirements[0]?.cells[0]?.baseMedian, null);
  }
});

test('what does not verify is shown, cannot spoil good evidence, and is told from missing evidence', () => {
  const failure = { code: 'not-verified', message: 'evidence.sha256 has changed' };
  const beside = decided((input) => {
    (input.runs as unknown[]).push({ path: 'junk', run: null, failure });
  });
  assert.equal(beside.result, 'pass');
  assert.deepEqual(codes(beside), ['not-verified']);
  assert.match(
    renderGateText(beside),
    /not counted\n {2}- junk; evidence.sha256 has changed \[not-verified\]/,
  );
  const alone = decided((input) => {
    input.runs = [{ path: 'junk', run: null, failure }];
  });
  assert.deepEqual([alone.result, alone.exitCode], ['invalid', EXIT.invalid]);
  const unfinished = decided((input) => {
    input.runs = [{ path: 'run', run: null, failure: { code: 'unfinished', message: 'has no seal' } }];
  });
  assert.equal(unfinished.result, 'missing');
});

test('the rules from disk are told in every decision', () => {
  const decision = decided((input) => {
    input.source.commit = null;
  });
  assert.equal(decision.result, 'pass');
  assert.deepEqual(
    decision.reasons.map(({ code }) => code),
    ['policy-from-disk'],
  );
  assert.match(renderGateText(decision), /FROM DISK/);
});

test('a trust policy that has expired is told also where no run is offered', () => {
  const at = (expires: string) =>
    decided((input) => {
      input.trust = { ...input.trust, expires };
      input.runs = [];
    });
  const gone = at('2026-11-30T11:59:59.000Z');
  assert.deepEqual(
    gone.reasons.map(({ code }) => code),
    ['policy-expired'],
  );
  assert.match(
    renderGateText(gone).replaceAll(/\s+/g, ' '),
    /qualify\.trust\.json expired at 2026-11-30T11:59:59/,
  );
  assert.deepEqual(at(NOW).reasons, []);
});

test('decides the same of the same, and changes nothing of what it was given', () => {
  const before = JSON.stringify(good.runs);
  assert.deepEqual(decide(good), decide(good));
  assert.equal(JSON.stringify(good.runs), before);
  assert.equal(decide(good).decidedAt, NOW);
});
