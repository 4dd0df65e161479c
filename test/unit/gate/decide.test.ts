/** The decision by itself: one verified run as it is, several of them, and what is told beside them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { EXIT } from '../../../src/exit-codes.js';
import { decide } from '../../../src/gate/decide.js';
import type { GateDecision } from '../../../src/gate/decision.js';
import { gather } from '../../../src/gate/gate.js';
import type { GateInput, VerifiedRun } from '../../../src/gate/input.js';
import { renderGateText } from '../../../src/gate/text.js';
import { type VerdictName, verdictNames } from '../../../src/verdict/schema.js';
import { decided, firstRun, policyWith, runCodes, sharedSite } from '../../fixtures/gate-input.js';
import { NOW, trusted } from '../../fixtures/gate-site.js';

const site = await sharedSite();
await site.run('good');
const good = await gather(site.options());

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

describe('of several runs', () => {
  test('the worst decides each cell, in whatever order they are found', () => {
    for (const isFirst of [true, false]) {
      const decision = decided(good, (input) => {
        const failing = another(firstRun(input), isFirst ? -10 : 10, 'fail');
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
    const decision = decided(good, (input) => add(input, structuredClone(firstRun(input)), 'copy'));
    assert.deepEqual(
      decision.evidence.map(({ counts }) => counts),
      [true, false],
    );
    assert.deepEqual(runCodes(decision), ['duplicate']);
  });

  test('a refusal that showed nothing is replaced by a later run on the same machine', () => {
    for (const refused of ['contaminated', 'infrastructure', 'not-measured', 'unmatched'] as const) {
      const later = decided(good, (input) => add(input, another(firstRun(input), -10, refused)));
      assert.equal(later.result, 'pass', refused);
      assert.deepEqual(runCodes(later), ['superseded']);
      const earlier = decided(good, (input) => add(input, another(firstRun(input), 10, refused)));
      assert.equal(earlier.result, 'refused', refused);
      const elsewhere = decided(good, (input) =>
        add(input, another(firstRun(input), -10, refused, sha256('x'))),
      );
      assert.equal(elsewhere.result, 'refused', refused);
    }
  });

  test('a failed cell, a parity failure and, unless the policy says so, an undecided cell stay', () => {
    const expected = { fail: 'fail', 'parity-failed': 'refused', inconclusive: 'inconclusive' } as const;
    for (const [verdict, result] of Object.entries(expected)) {
      const decision = decided(good, (input) =>
        add(input, another(firstRun(input), -10, verdict as VerdictName)),
      );
      assert.equal(decision.result, result, verdict);
    }
    const bears = decided(good, (input) => {
      input.policy = policyWith(input, { supersede: ['refused', 'inconclusive'] });
      add(input, another(firstRun(input), -10, 'inconclusive'));
    });
    assert.equal(bears.result, 'pass');
    const still = decided(good, (input) => {
      input.policy = policyWith(input, { supersede: ['refused', 'inconclusive'] });
      add(input, another(firstRun(input), -10, 'fail'));
    });
    assert.equal(still.result, 'fail');
  });

  test('a session that broke off is refused though each of its cells passed', () => {
    const decision = decided(good, (input) => {
      const { verdict } = firstRun(input);
      verdict.result = 'not-measured';
      verdict.reasons = [{ code: 'session-incomplete', message: 'the session did not reach its end' }];
    });
    assert.deepEqual([decision.result, decision.exitCode], ['refused', EXIT.notMeasured]);
    assert.equal(decision.requirements[0]?.reasons[0]?.code, 'session-incomplete');
  });

  test('two machines are asked for by their ids and keys, and what failed on one needs no second', () => {
    const require = [{ matrix: 'fixture', machine: 'any', machinesAtLeast: 2 }];
    const on = (machine: string | undefined, result: VerdictName = 'pass'): GateDecision =>
      decided(good, (input) => {
        input.policy = policyWith(input, { require });
        const run = another(firstRun(input), 10, result, machine);
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
    const decision = decided(good, (input) => {
      withResult(firstRun(input), verdict);
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
  const beside = decided(good, (input) => {
    (input.runs as unknown[]).push({ path: 'junk', run: null, failure });
  });
  assert.equal(beside.result, 'pass');
  assert.deepEqual(runCodes(beside), ['not-verified']);
  assert.match(
    renderGateText(beside),
    /not counted\n {2}- junk; evidence.sha256 has changed \[not-verified\]/,
  );
  const alone = decided(good, (input) => {
    input.runs = [{ path: 'junk', run: null, failure }];
  });
  assert.deepEqual([alone.result, alone.exitCode], ['invalid', EXIT.invalid]);
  const unfinished = decided(good, (input) => {
    input.runs = [{ path: 'run', run: null, failure: { code: 'unfinished', message: 'has no seal' } }];
  });
  assert.equal(unfinished.result, 'missing');
});

test('the rules from disk are told in every decision', () => {
  const decision = decided(good, (input) => {
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
    decided(good, (input) => {
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
