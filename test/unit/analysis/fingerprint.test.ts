/** Each condition of a launch is changed alone, in one launch of one arm: those that must be equal are refused by name. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { classOf, fieldClasses, requiredFields } from '../../../src/analysis/field-classes.js';
import { PEER_REVISION } from '../../../src/matrix/engines.js';
import type { Plan } from '../../../src/plan/schema.js';
import type { Reason, Verdict } from '../../../src/verdict/schema.js';
import type { Conditions } from '../../fixtures/conditions.js';
import {
  alterWitness,
  type Draft,
  makeJournal,
  makePlan,
  SWITCH,
  verdictOf,
} from '../../fixtures/journal.js';

const plan = makePlan();
const wallPlan = makePlan({ protocol: { clock: 'wall' } });
/** One launch in the middle, so that neither the first nor the last one is the odd one out. */
const ODD = 'r3-head';

type Change = (fields: Conditions) => Conditions;

/** Changes the conditions of launches whose name matches. */
const altered =
  (launches: RegExp, change: Change) =>
  (draft: Draft): Draft =>
    draft.kind === 'conditions' && launches.test(draft.launch)
      ? { ...draft, fields: change({ ...draft.fields }) }
      : draft;

const setTo =
  (field: string, value: string | null): Change =>
  (fields) => ({ ...fields, [field]: value });

const oddLaunch = new RegExp(`^${ODD}$`);
const withOdd = (change: Change, of: Plan = plan): Verdict =>
  verdictOf(of, { alter: altered(oddLaunch, change) });
const reasonsOf = (verdict: Verdict): Reason[] => verdict.cells[0]?.comparisons[0]?.reasons ?? [];

/** Asserts a refusal for conditions, and gives what was said for `code`. */
function refusal(verdict: Verdict, code: string): string {
  assert.equal(verdict.result, 'unmatched', JSON.stringify(verdict.reasons));
  assert.equal(verdict.exitCode, 14);
  assert.deepEqual(verdict.cells[0]?.arms, {}, 'no rate is shown');
  const reason = reasonsOf(verdict).find((each) => each.code === code);
  assert.ok(reason, `${JSON.stringify(reasonsOf(verdict))} lacks ${code}`);
  return reason.message;
}

const good =
  makeJournal(plan).flatMap((entry) => (entry.kind === 'conditions' ? [entry.fields] : []))[0] ?? {};
const namesOf = (name: 'equal' | 'differ' | 'bounded' | 'recorded'): string[] =>
  Object.keys(good).filter((field) => classOf(field).class === name);

const short = (value: string): string => (/[0-9a-f]{64}$/.test(value) ? value.slice(0, -52) : value);

describe('a field that must be equal', () => {
  test('is one of at least 40, and the fixture has every field that must be there', () => {
    assert.ok(namesOf('equal').length >= 40, `${namesOf('equal').length}`);
    assert.deepEqual(
      requiredFields.filter((field) => !(field in good)),
      [],
    );
  });

  for (const field of namesOf('equal')) {
    test(`${field} in one launch is refused by name`, () => {
      const before = good[field] ?? null;
      const message = refusal(withOdd(setTo(field, 'another value')), classOf(field).code ?? 'field-differs');
      assert.ok(message.includes(field), message);
      assert.ok(message.includes(ODD), message);
      assert.ok(message.includes(classOf(field).word), message);
      assert.ok(message.includes('another value'), message);
      if (before !== null && field !== `environment.${SWITCH}`)
        assert.ok(message.includes(short(before)), message);
    });
  }

  test('says both values, the launches and the remedy', () => {
    const message = refusal(withOdd(setTo('cpu.governor', 'powersave')), 'field-differs');
    assert.match(
      message,
      /^the launches differ in CPU governor \(cpu\.governor\): performance in r0-base and 10 more; powersave in r3-head; leave the setting alone/,
    );
  });

  test('is refused over all launches, not only between the two of a round', () => {
    const whole = altered(/^r3-/, setTo('cpu.governor', 'powersave'));
    assert.match(
      refusal(verdictOf(plan, { alter: whole }), 'field-differs'),
      /powersave in r3-\w+ and 1 more/,
    );
  });

  test('is refused when a whole arm has another value', () => {
    const arm = altered(/-head$/, setTo('library.libc.so.6', 'a'.repeat(64)));
    assert.match(refusal(verdictOf(plan, { alter: arm }), 'field-differs'), /library\.libc\.so\.6/);
  });

  test('and that only one launch has is refused, whatever it is: nobody knows it', () => {
    const message = refusal(withOdd(setTo('moon.phase', 'full')), 'field-differs');
    assert.match(message, /moon\.phase\): unknown in r0-base and 10 more; full in r3-head/);
    const library = refusal(withOdd(setTo('library.libx.so', 'a'.repeat(64))), 'field-differs');
    assert.match(library, /library\.libx\.so/);
  });

  test('names three in full and the others by name when many differ', () => {
    const many = ['cpu.governor', 'cpu.boost', 'cpu.smt', 'kernel.release', 'memory.ksm'];
    const change: Change = (fields) => ({ ...fields, ...Object.fromEntries(many.map((f) => [f, 'x'])) });
    const message = refusal(withOdd(change), 'field-differs');
    assert.equal(message.match(/the launches differ in/g)?.length, 3);
    for (const field of many) assert.ok(message.includes(field), message);
  });
});

describe('an environment variable', () => {
  const field = 'environment.LD_PRELOAD';

  test('that is empty is not one that is unset', () => {
    const verdict = withOdd(setTo(field, ''));
    assert.match(refusal(verdict, 'field-differs'), /unset in r0-base and 10 more; empty in r3-head/);
    assert.match(
      refusal(verdict, 'environment-differs'),
      /r3-head: LD_PRELOAD .* is empty in its process, given was unset/,
    );
  });

  test('that every process has though none was given it is refused', () => {
    const all = altered(/./, setTo('environment.GGML_SOMETHING', '1'));
    const message = refusal(verdictOf(plan, { alter: all }), 'environment-differs');
    assert.match(message, /GGML_SOMETHING .* is 1 in its process, given was unset/);
  });

  test('that is a switch may differ between the arms that the plan sets apart, and not within one', () => {
    assert.equal(good[`environment.${SWITCH}`], '0');
    assert.equal(verdictOf(plan).result, 'pass');
    const message = refusal(withOdd(setTo(`environment.${SWITCH}`, '0')), 'field-differs');
    assert.match(message, /1 in r0-head and 4 more; 0 in r3-head/);
  });

  test('whose value was lost is not the value that was given', () => {
    const change: Change = ({ [`environment.${SWITCH}`]: _lost, ...fields }) => fields;
    assert.match(refusal(withOdd(change), 'environment-differs'), /is unset in its process, given was 1/);
  });
});

describe('a field that differs by design', () => {
  for (const field of namesOf('differ')) {
    test(`${field} has one value in each arm`, () => {
      assert.ok(refusal(withOdd(setTo(field, 'another value')), 'field-differs').includes(field));
      const arm = altered(/-head$/, setTo(field, 'another value'));
      assert.equal(verdictOf(plan, { alter: arm }).result, 'pass');
    });
  }

  test('what the plan sets apart may differ: arguments, a planted slowdown', () => {
    const apart = makePlan({
      arms: { base: {}, head: { arguments: ['--cache-slots', '8'], plantedSlowdownPercent: 3 } },
    });
    const plantedOnly = (verdict: Verdict): void =>
      assert.deepEqual(
        verdict.reasons.map(({ code }) => code),
        ['planted'],
      );
    plantedOnly(verdictOf(apart));
    const together = makePlan({ arms: { base: {}, head: {} } });
    for (const field of ['engine.arguments', 'engine.cacheSlots', 'engine.plantedSlowdown']) {
      const arm = altered(/-head$/, setTo(field, '8'));
      assert.ok(refusal(verdictOf(together, { alter: arm }), 'field-differs').includes(field));
      plantedOnly(verdictOf(apart, { alter: arm }));
    }
  });
});

describe('a field with a bound', () => {
  const cases: [string, string, string, Plan][] = [
    ['start.temperature', '74.9', '75.1', plan],
    ['start.availableMemory', '3000000001', '2999999999', plan],
    ['start.load', '3.5', '3.51', wallPlan],
  ];
  for (const [field, within, beyond, of] of cases) {
    test(`${field} passes within it and is refused beyond`, () => {
      assert.equal(withOdd(setTo(field, within), of).result, 'pass');
      const message = refusal(withOdd(setTo(field, beyond), of), 'field-beyond-bound');
      assert.ok(message.includes(field) && message.includes(beyond), message);
      assert.match(message, /in r3-base, .* in r3-head; /);
    });
  }

  test('is compared between the launches of a round, so that a machine may warm up', () => {
    const warming = altered(/./, (fields) => fields);
    const byRound = (draft: Draft): Draft =>
      draft.kind === 'conditions'
        ? {
            ...draft,
            fields: { ...draft.fields, 'start.temperature': `${40 + 10 * Number(draft.launch[1])}` },
          }
        : warming(draft);
    assert.equal(verdictOf(plan, { alter: byRound }).result, 'pass');
  });

  test('that is known in one launch only is refused', () => {
    assert.match(
      refusal(withOdd(setTo('start.temperature', null)), 'field-beyond-bound'),
      /unknown in r3-head/,
    );
    assert.match(refusal(withOdd(setTo('start.temperature', 'hot')), 'field-beyond-bound'), /hot/);
  });

  test('of the load does not matter to CPU time', () =>
    assert.equal(withOdd(setTo('start.load', '30')).result, 'pass'));

  test('is one of those tested here, or cannot be read on this machine', () => {
    const tested = [...cases.map(([field]) => field), 'start.gpuTemperature'];
    assert.deepEqual(namesOf('bounded').toSorted(), tested.toSorted());
    assert.match(
      refusal(withOdd(setTo('start.gpuTemperature', '80')), 'field-beyond-bound'),
      /start\.gpuTemperature/,
    );
  });
});

describe('a field for the record', () => {
  for (const field of namesOf('recorded')) {
    test(`${field} may be anything`, () =>
      assert.equal(withOdd(setTo(field, 'another value')).result, 'pass'));
  }
});

describe('conditions', () => {
  test('that were not recorded are refused', () => {
    const alter = (draft: Draft): Draft | null =>
      draft.kind === 'conditions' && draft.launch === ODD ? null : draft;
    assert.match(refusal(verdictOf(plan, { alter }), 'conditions-missing'), /^r3-head: /);
  });

  for (const field of requiredFields) {
    test(`without ${field} are refused`, () => {
      const change: Change = ({ [field]: _left, ...fields }) => fields;
      const message = refusal(verdictOf(plan, { alter: altered(/./, change) }), 'conditions-missing');
      assert.ok(message.includes(field), message);
    });
  }

  test('that contradict the witness are refused in every launch alike', () => {
    const all = altered(/./, setTo('engine.threads', '1'));
    const message = refusal(verdictOf(plan, { alter: all }), 'threads-differs');
    assert.match(message, /record for number of threads \(engine\.threads\) 1, the engine says 2/);
  });

  test('tell tokenizers apart', () => {
    const one = alterWitness('base', { tokenizerSha256: 'a'.repeat(64) });
    const two = alterWitness('head', { tokenizerSha256: 'b'.repeat(64) });
    assert.equal(verdictOf(plan, { alter: one }).result, 'unmatched', 'said by one and not by the other');
    refusal(verdictOf(plan, { alter: (draft) => two(one(draft)) }), 'tokenizer-differs');
    const same = alterWitness('head', { tokenizerSha256: 'a'.repeat(64) });
    assert.equal(verdictOf(plan, { alter: (draft) => same(one(draft)) }).result, 'pass');
  });

  test('of launches that broke are not compared', () => {
    const broken = (draft: Draft): Draft =>
      draft.kind === 'stop' && draft.launch === ODD ? { ...draft, how: 'died' } : draft;
    const change = altered(oddLaunch, setTo('cpu.governor', 'powersave'));
    const verdict = verdictOf(plan, { alter: (draft) => broken(change(draft)) });
    assert.equal(verdict.result, 'not-measured');
  });
});

describe('arms of two engines', () => {
  const peers = makePlan({
    model: { preset: 'unit', experts: 'q4_0', roundTrips: false },
    arms: { 'llama-cpp': { engine: 'node-llama-cpp' }, qualify: {} },
    protocol: { parity: 'tokens' },
  });
  const ofPeer = (field: string, launches = /-llama-cpp$/): string[] =>
    reasonsOf(verdictOf(peers, { alter: altered(launches, setTo(field, 'x')) })).map(({ code }) => code);

  test('must share machine and workload, and keep their own libraries and limits over all launches', () => {
    assert.equal(peers.arms[0]?.revision, PEER_REVISION);
    assert.equal(verdictOf(peers).result, 'pass', JSON.stringify(verdictOf(peers).reasons));
    for (const row of fieldClasses) {
      if (row.class !== 'equal' || row.name.endsWith('*')) continue;
      const witnessed = ['engine.isa', 'model.tokenizer'].includes(row.name);
      const whole = ofPeer(row.name);
      assert.equal(whole.length > 0, row.scope === 'shared' || witnessed, row.name);
      assert.ok(ofPeer(row.name, /^r2-llama-cpp$/).length > 0, row.name);
    }
  });
});
