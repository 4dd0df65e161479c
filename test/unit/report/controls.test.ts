/** How a report shows the controls of a session, and a protocol that is too small. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { estimate } from '../../../src/plan/estimate.js';
import type { Plan } from '../../../src/plan/schema.js';
import { controlLines } from '../../../src/report/controls.js';
import { renderMarkdown } from '../../../src/report/markdown.js';
import { describePlan } from '../../../src/report/plan.js';
import { renderTable } from '../../../src/report/table.js';
import type { Verdict } from '../../../src/verdict/schema.js';
import { type JournalOptions, makeJournal, makePlan, verdictOf } from '../../fixtures/journal.js';

const protocol = { nullRounds: 2 };
const cells = [
  { promptTokens: 64, chunk: 32 },
  { promptTokens: 96, chunk: 32 },
];
const plan = makePlan({ cells, protocol });
const options: JournalOptions = {
  ms: ({ arm, cell, round, index }) => {
    const moved = arm === 'null' && cell.id === '96/32' ? 1.2 : 1;
    return 100 * moved * (1 + 1e-4 * ((round * 7 + index * 3 + arm.length) % 5));
  },
};
const verdict = verdictOf(plan, options);
const context = { plan, entries: makeJournal(plan, options) };

const rendered = (of: Plan, own: Verdict): string[] => {
  const run = { plan: of, entries: makeJournal(of) };
  return [renderTable(own, run), renderMarkdown(own, run)];
};

describe('the controls of a report', () => {
  test('are a line each, worst first, the largest of many alone', () => {
    const lines = controlLines(verdict);
    assert.deepEqual(
      lines.map(({ label }) => label),
      ['null', 'null', 'warm-up', 'slot', 'order'],
    );
    assert.match(lines[0]?.text ?? '', /^EXCEEDED, 96\/32: base against itself -16\.\d % \(/);
    assert.match(lines[1]?.text ?? '', /^ok, 64\/32: base against itself/);
    assert.match(lines[2]?.text ?? '', /^ok \(the largest of 4\), \d+\/32: (base|head) /);
  });

  test('put what was exceeded before what is in order, whatever its name', () => {
    const controls = verdict.controls.map((control) => ({
      ...control,
      status: control.name === 'order' ? ('exceeded' as const) : ('ok' as const),
    }));
    const labels = controlLines({ ...verdict, controls }).map(({ label }) => label);
    assert.deepEqual(labels, ['order', 'null', 'warm-up', 'slot']);
  });

  test('stand in the table, 80 wide, and in Markdown', () => {
    const table = renderTable(verdict, context);
    for (const line of table.split('\n')) assert.ok(line.length <= 80, line);
    assert.match(table, /^controls\n {2}null +EXCEEDED, 96\/32/m);
    assert.match(renderMarkdown(verdict, context), /^Controls of the session:\n\n- null: EXCEEDED, 96\/32/m);
  });

  test('are not taken with a reason', () => {
    const one = makePlan({ protocol: { ...protocol, looks: [1] } });
    const lines = controlLines(verdictOf(one));
    assert.match(
      lines[0]?.text ?? '',
      /^not taken in 64\/32: 1 round of the null arm; an interval takes two/,
    );
  });

  test('that were not taken are one line a reason, with what was not taken', () => {
    const one = makePlan({ cells, protocol: { ...protocol, samples: 1 } });
    const warmUps = controlLines(verdictOf(one)).filter(({ label }) => label === 'warm-up');
    assert.deepEqual(
      warmUps.map(({ text }) => text),
      [
        'not taken of base, head in 64/32, 96/32: too few launches or samples to tell warming up from what prompts cost',
      ],
    );
  });

  test('that are not taken are told with their cells and why', () => {
    const controls = verdict.controls
      .filter(({ name }) => name === 'null')
      .map((control) => ({ ...control, status: 'not-taken' as const }));
    const [line] = controlLines({ ...verdict, controls });
    assert.match(line?.text ?? '', /^not taken in 64\/32: base against itself/);
  });

  test('are left out where there are none', () => {
    const none = { ...verdict, controls: [] };
    for (const text of rendered(plan, none)) assert.doesNotMatch(text, /controls/i);
  });

  test('have no row in the table, and the null arm is named as a control', () => {
    for (const text of [renderTable(verdict, context), renderMarkdown(verdict, context)]) {
      assert.doesNotMatch(text, /null against base/);
      assert.match(text.replaceAll(/\s+/g, ' '), /arm null:? .*control null, DFLASH/);
    }
  });
});

describe('a small protocol', () => {
  const small = (rounds: number, samples = 5): string[] => {
    const of = makePlan({ protocol: { ...protocol, samples, looks: [rounds] } });
    return rendered(of, verdictOf(of)).map((text) => text.replaceAll(/\s+/g, ' '));
  };

  test('of one round says what its requests are and what cannot be said', () => {
    for (const text of small(1)) {
      assert.match(
        text,
        /The 5 requests of a launch share .* 5 readings of one launch, no independent measurements/,
      );
      assert.match(text, /31 % of comparisons of equal things/);
      assert.match(text, /there is no p, no interval, and no "no regression"/);
    }
    for (const text of small(1, 1)) assert.match(text, /The one request of a launch/);
  });

  test('of two to five says that nothing can pass', () => {
    for (const rounds of [2, 5]) {
      for (const text of small(rounds))
        assert.match(text, new RegExp(`Small protocol, ${rounds} rounds: .*nothing can pass`));
    }
  });

  test('is not what six rounds are', () => {
    for (const text of small(6)) assert.doesNotMatch(text, /Small protocol/);
  });
});

describe('a plan', () => {
  const text = (of: Plan): string => describePlan(of, estimate(of)).replaceAll(/\s+/g, ' ');

  test('shows the null arm and its cost, or that there is none', () => {
    assert.match(text(plan), /arm null the reference once more: a control, not compared/);
    assert.match(text(plan), /null arm in 2 rounds: 2 launches, about \d+ s of the time below/);
    assert.match(text(makePlan()), /warning no null arm/);
  });

  test('guesses its time as that of a quiet machine', () => {
    assert.match(text(plan), /time about \d+ s on a quiet machine; builds/);
    const looks = makePlan({ protocol: { ...protocol, looks: [6, 12] } });
    assert.match(text(looks), /time about \d+ s to the first look, \d+ s to the last, on a quiet machine;/);
  });

  test('has one look after one round, or looks after several', () => {
    const looking = (looks: number[]) => text(makePlan({ protocol: { ...protocol, looks } }));
    assert.match(looking([1]), /, one look after 1 round, /);
    assert.match(looking([6, 12]), /, looks after 6, 12 rounds, /);
  });

  test('shows caps, and those below which nothing can pass', () => {
    const capped = makePlan({
      cells: [
        { promptTokens: 64, chunk: 32, cap: 2 },
        { promptTokens: 96, chunk: 32 },
      ],
      protocol: { ...protocol, looks: [2, 6] },
    });
    assert.match(text(capped), /64\/32 \(prefill: .*, at most 2 rounds\)/);
    assert.match(text(capped), /warning 64\/32 is capped at 2: with fewer than 6 rounds it cannot pass/);
    assert.match(text(makePlan({ protocol: { ...protocol, looks: [1] } })), /Small protocol, one launch/);
  });
});
