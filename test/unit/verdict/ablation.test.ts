/** An ablation from plan and journal to the verdict and its report. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ablationMatrix } from '../../../src/matrix/ablate.js';
import { type Design, type MatrixInput, matrixSchema } from '../../../src/matrix/schema.js';
import { estimate } from '../../../src/plan/estimate.js';
import type { Plan } from '../../../src/plan/schema.js';
import { renderMarkdown } from '../../../src/report/markdown.js';
import { describePlan } from '../../../src/report/plan.js';
import { renderTable } from '../../../src/report/table.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import {
  alterAnswers,
  type Draft,
  type JournalOptions,
  makeJournal,
  makePlan,
  SWITCH,
  verdictOf,
} from '../../fixtures/journal.js';

const folded = 'folded-plackett-burman';
const names = [SWITCH, 'FAKE_A', 'FAKE_B', 'FAKE_C'];
const factors = names.map((name) => ({ switch: name, low: '0', high: '1' }));
/** What each switch does to the rate when it is on, and what the first two do together. */
const gains: Record<string, number> = { [SWITCH]: 0.4, FAKE_A: -0.1, FAKE_B: 0, FAKE_C: 0.02 };
const together = 0.06;

const base: MatrixInput = {
  schemaVersion: 1,
  name: 'test',
  title: 'Test',
  model: { preset: 'unit' },
  cells: [{ promptTokens: 64, chunk: 32 }],
  arms: { off: {}, on: {} },
  protocol: { warmups: 1, samples: 2, clock: 'cpu' },
};

function planOf(kind: Design['kind'], rounds: number, from: 'off' | 'on' = 'on'): Plan {
  const matrix = ablationMatrix(matrixSchema.parse(base), { kind, from, factors, rounds });
  return makePlan(matrix);
}

const isOn = (plan: Plan, arm: string, name: string | undefined): boolean =>
  plan.arms.find((own) => own.name === arm)?.switches[name ?? ''] === '1';

/** Rates with planted gains, a course of the session, and noise that the name of the launch decides. */
function options(plan: Plan, noise = 0.004, more: Partial<JournalOptions> = {}): JournalOptions {
  return {
    ms: ({ arm, round }) => {
      const gain = names.reduce((sum, name) => sum + (isOn(plan, arm, name) ? (gains[name] ?? 0) : 0), 0);
      const pair = isOn(plan, arm, names[0]) && isOn(plan, arm, names[1]) ? together : 0;
      const place = plan.arms.findIndex(({ name }) => name === arm);
      const wobble = noise * Math.sin(37 * place + 11 * round * place);
      return 100 * Math.exp(-gain - pair - wobble + 0.1 * round);
    },
    ...more,
    // Every switch has a counter of its own, as in an engine that shows what ran.
    alter: (draft) => (more.alter ?? ((same: Draft): Draft | null => same))(counted(plan, draft)),
  };
}

function counted(plan: Plan, draft: Draft): Draft {
  if (draft.kind !== 'counters') return draft;
  const arm = draft.launch.replace(/^r\d+-/, '');
  const own = names.slice(1).map((name): [string, number] => [`runs.${name}`, isOn(plan, arm, name) ? 8 : 0]);
  return { ...draft, counters: { ...draft.counters, ...Object.fromEntries(own) } };
}

const cellOf = (verdict: Verdict) => {
  const [cell] = verdict.ablation?.cells ?? [];
  assert.ok(cell);
  return cell;
};
const effectsOf = (verdict: Verdict) => cellOf(verdict).switches.map(({ effect }) => effect);
const near = (percent: number | undefined, log: number, within: number): boolean =>
  Math.abs((percent ?? Number.NaN) - 100 * Math.expm1(log)) < within;

describe('an ablation by a design', () => {
  const plan = planOf(folded, 2);
  const verdict = verdictOf(plan, options(plan));

  test('finds what the switches do in the mean over the others, and claims it by Holm', () => {
    const wanted = [0.4 + together / 2, -0.1 + together / 2, 0, 0.02];
    effectsOf(verdict).forEach((effect, index) => {
      assert.ok(effect && near(effect.percent, wanted[index] ?? 0, 0.6), `${index}: ${effect?.percent}`);
      const excluded = (effect.lowerPercent ?? 0) > 0 || (effect.upperPercent ?? 0) < 0;
      assert.equal(effect.stands, excluded);
      assert.equal(effect.stands, (effect.adjustedP ?? 1) <= 0.05);
    });
    assert.deepEqual(
      effectsOf(verdict).map((effect) => effect?.stands),
      [true, true, false, true],
    );
  });

  test('passes with exit 0 when everything is proved, however slow the switches are, and says what that means', () => {
    assert.deepEqual([verdict.result, verdict.exitCode], ['pass', 0]);
    assert.ok(
      verdict.cells.every(({ comparisons }) => comparisons.every(({ detail }) => detail === 'measured')),
    );
    assert.ok(verdict.warnings.some(({ code }) => code === 'ablation'));
    assert.ok(!verdict.warnings.some(({ code }) => code === 'few-rounds'));
  });

  test('without any noise claims what is there and nothing else, whatever rounding leaves', () => {
    const quiet = verdictOf(plan, options(plan, 0));
    assert.deepEqual(
      effectsOf(quiet).map((effect) => [effect?.stands, effect?.p]),
      [
        [true, 0],
        [true, 0],
        [false, 1],
        [true, 0],
      ],
    );
    const [, , nothing] = effectsOf(quiet);
    assert.deepEqual([nothing?.percent, nothing?.lowerPercent, nothing?.upperPercent], [0, 0, 0]);
    assert.equal(cellOf(quiet).pairs.filter(({ percent }) => percent !== 0).length, 1);
  });

  test('shows the pair first, among those that it cannot be told from', () => {
    const [first, ...others] = cellOf(verdict).pairs;
    const sizes = cellOf(verdict).pairs.map(({ percent }) => Math.abs(percent));
    assert.deepEqual(
      sizes,
      sizes.toSorted((a, b) => b - a),
    );
    assert.ok(first?.pairs.some(([a, b]) => a === names[0] && b === names[1]));
    assert.ok(near(first?.percent, together / 2, 0.6), `${first?.percent}`);
    assert.ok(others.every(({ adjustedP }) => (adjustedP ?? 0) >= (first?.adjustedP ?? 1)));
  });

  test('measures all on against all off', () => {
    const { joint } = cellOf(verdict);
    assert.ok(joint && near(joint.percent, 0.4 - 0.1 + 0.02 + together, 1.5), `${joint?.percent}`);
  });

  test('says what shows that each switch worked', () => {
    assert.deepEqual(
      verdict.ablation?.witnesses.map(({ status }) => status),
      ['kernels', 'counters', 'counters', 'counters'],
    );
  });

  test('one round has wider bounds, ranks no pairs and still passes', () => {
    const single = planOf(folded, 1);
    const found = verdictOf(single, options(single));
    assert.equal(found.result, 'pass');
    assert.equal(cellOf(found).noise.from, 'residual');
    assert.ok(cellOf(found).pairs.every(({ p, adjustedP }) => p === null && adjustedP === null));
    const widthOf = (some: Verdict): number => {
      const [effect] = effectsOf(some);
      return (effect?.upperPercent ?? 0) - (effect?.lowerPercent ?? 0);
    };
    assert.ok(widthOf(found) > widthOf(verdict));
  });

  test('is worth nothing when an arm answers otherwise: no effect is shown', () => {
    const other = alterAnswers(
      ({ launch }) => launch.endsWith('-row-03'),
      () => ({ logitsSha256: 'f'.repeat(64) }),
    );
    const found = verdictOf(plan, options(plan, 0.004, { alter: other }));
    assert.deepEqual([found.result, found.exitCode], ['parity-failed', 13]);
    assert.ok(effectsOf(found).every((effect) => effect === null));
    assert.deepEqual([cellOf(found).joint, cellOf(found).pairs], [null, []]);
    assert.deepEqual(cellOf(found).refused, ['row-03']);
  });

  test('refuses a switch that changes nothing but what the engine says', () => {
    const lame = (draft: Draft): Draft => {
      if (draft.kind !== 'counters') return draft;
      const { 'runs.FAKE_B': _gone, ...counters } = draft.counters;
      return { ...draft, counters };
    };
    const found = verdictOf(plan, options(plan, 0.004, { alter: lame }));
    assert.deepEqual([found.result, found.exitCode], ['unmatched', 14]);
    assert.ok(
      found.reasons.some(({ code, message }) => code === 'switch-without-effect' && /FAKE_B/.test(message)),
    );
    assert.deepEqual(
      effectsOf(found).map((effect) => effect === null),
      [false, false, true, false],
    );
  });

  test('takes an arm whose switches have nothing to do without another, and which runs what the reference runs', () => {
    const needing = (draft: Draft): Draft => {
      if (draft.kind !== 'counters' || isOn(plan, draft.launch.replace(/^r\d+-/, ''), SWITCH)) return draft;
      const own = Object.entries(draft.counters).filter(([name]) => !name.startsWith('runs.'));
      return { ...draft, counters: Object.fromEntries(own) };
    };
    const found = verdictOf(plan, options(plan, 0.004, { alter: needing }));
    assert.equal(found.result, 'pass', JSON.stringify(found.reasons));
    assert.deepEqual(cellOf(found).refused, []);
  });

  test('refuses an arm whose own kernels did not run', () => {
    const never = (draft: Draft): Draft =>
      draft.kind === 'counters' && draft.launch === 'r1-all-on'
        ? { ...draft, counters: { ...draft.counters, 'mmid.grouped.gate_up': 0 } }
        : draft;
    const found = verdictOf(plan, options(plan, 0.004, { alter: never }));
    assert.equal(found.result, 'unmatched');
    assert.deepEqual(cellOf(found).refused, ['all-on']);
  });

  test('that ended early has not measured, and blames no switch', () => {
    const cut = (draft: Draft): Draft | null => (draft.kind === 'end' ? null : draft);
    for (const rounds of [0, 1]) {
      const found = verdictOf(plan, options(plan, 0.004, { rounds, alter: cut }));
      assert.equal(found.result, 'not-measured');
      assert.ok(!found.reasons.some(({ code }) => code === 'switch-without-effect'));
    }
  });
});

describe('one switch at a time', () => {
  test('measures each against the reference, high against low from either side', () => {
    for (const from of ['on', 'off'] as const) {
      const plan = planOf('one-at-a-time', 6, from);
      const verdict = verdictOf(plan, options(plan));
      assert.equal(verdict.result, 'pass');
      // With the first two on, each of them has the whole of what they do together; with them off, none of it.
      const extra = from === 'on' ? together : 0;
      [0.4 + extra, -0.1 + extra, 0, 0.02].forEach((wanted, index) => {
        const effect = effectsOf(verdict)[index];
        assert.ok(effect && near(effect.percent, wanted, 1), `${from} ${index}: ${effect?.percent}`);
      });
      assert.deepEqual(cellOf(verdict).pairs, []);
      assert.ok(near(cellOf(verdict).joint?.percent, 0.4 - 0.1 + 0.02 + together, 1.5));
    }
  });

  test('takes the joint effect from where it was measured, and not from a product', () => {
    const plan = planOf('one-at-a-time', 6, 'off');
    const verdict = verdictOf(plan, options(plan));
    const product = effectsOf(verdict).reduce(
      (ratio, effect) => ratio * (1 + (effect?.percent ?? 0) / 100),
      1,
    );
    assert.ok((cellOf(verdict).joint?.percent ?? 0) - 100 * (product - 1) > 5);
  });

  test('goes without the one arm that is refused', () => {
    const plan = planOf('one-at-a-time', 2);
    const lame = (draft: Draft): Draft => {
      if (draft.kind !== 'counters') return draft;
      const { 'runs.FAKE_B': _gone, ...counters } = draft.counters;
      return { ...draft, counters };
    };
    const verdict = verdictOf(plan, options(plan, 0.004, { alter: lame }));
    assert.equal(verdict.result, 'unmatched');
    assert.deepEqual(cellOf(verdict).refused, ['without-FAKE_B']);
    assert.deepEqual(
      effectsOf(verdict).map((effect) => effect === null),
      [false, false, true, false],
    );
  });

  test('one round has effects without intervals or claims', () => {
    const plan = planOf('one-at-a-time', 1);
    const [effect] = effectsOf(verdictOf(plan, options(plan)));
    assert.ok(effect);
    assert.deepEqual([effect.lowerPercent, effect.p, effect.stands], [null, null, false]);
  });
});

test('a plan of an ablation says so, and does not want more rounds', () => {
  const plan = planOf(folded, 2);
  const text = describePlan(plan, estimate(plan)).replaceAll(/\s+/g, ' ');
  assert.match(text, /ablation folded-plackett-burman, no budget is judged: .*FAKE_A 0 or 1/);
  assert.doesNotMatch(text, /nothing can pass/);
});

describe('the report of an ablation', () => {
  for (const kind of ['one-at-a-time', folded] as const)
    test(`${kind}: is 80 columns wide and shows switches instead of arms`, () => {
      const plan = planOf(kind, 2);
      const verdict = verdictOf(plan, options(plan));
      const context = { plan, entries: makeJournal(plan, options(plan)) };
      const text = renderTable(verdict, context);
      for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
      const markdown = renderMarkdown(verdict, context);
      for (const shown of [text, markdown]) {
        assert.match(shown.replaceAll(/\s+/g, ' '), /single switches are not multiplied/);
        assert.match(shown, /no budget judged/);
        assert.doesNotMatch(shown, /against all-o[nf]+$/m);
        for (const name of names) assert.ok(shown.includes(name), name);
        // The switch that does most comes first.
        assert.ok(shown.indexOf(SWITCH) < shown.indexOf('FAKE_A'));
      }
      assert.equal(/exploratory/.test(text), kind === folded);
    });

  test('says of each interval at which level it is, and nothing of what cannot pass', () => {
    const plan = planOf('one-at-a-time', 3);
    const run = { plan, entries: makeJournal(plan, options(plan)) };
    const verdict = verdictOf(plan, options(plan));
    for (const shown of [renderTable(verdict, run), renderMarkdown(verdict, run)]) {
      const text = shown.replaceAll(/\s+/g, ' ');
      assert.doesNotMatch(text, /Small protocol|nothing can pass|without bounds|bounds at one-sided|decides/);
      assert.match(text, /All on against all off, as measured: [^,]+, \S+ % to \S+ % at 95 %/);
      assert.equal(text.match(/ at (?:95|97\.5|98\.3|98\.8) %/g)?.length, 1 + names.length);
    }
  });

  test('shows the arm that is refused, with the reason', () => {
    const plan = planOf(folded, 2);
    const other = alterAnswers(
      ({ launch }) => launch.endsWith('-row-03'),
      () => ({ logitsSha256: 'f'.repeat(64) }),
    );
    const own = options(plan, 0.004, { alter: other });
    const text = renderTable(verdictOf(plan, own), { plan, entries: makeJournal(plan, own) });
    assert.match(text, /row-03 against all-off/);
    assert.match(text, /outputs-differ/);
    assert.doesNotMatch(text, /row-04 against all-off/);
  });
});
