/** Two sessions side by side: directions and no amounts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type AcrossSessions,
  acrossSessions,
  type SessionRecord,
} from '../../../src/analysis/across-sessions.js';
import { analyse } from '../../../src/analysis/analyse.js';
import { renderAcrossSessions } from '../../../src/report/across-sessions.js';
import { evidenceKindSchema, mayGate } from '../../../src/verdict/evidence-kind.js';
import { judge } from '../../../src/verdict/judge.js';
import {
  alterAnswers,
  type Draft,
  type JournalOptions,
  makeJournal,
  makePlan,
} from '../../fixtures/journal.js';

/** A session whose samples take `ms` milliseconds, give or take one. */
function session(
  name: string,
  ms: number,
  { changes = {}, ...options }: JournalOptions & { changes?: Parameters<typeof makePlan>[0] } = {},
): SessionRecord {
  const plan = makePlan(changes, name);
  const entries = makeJournal(plan, { ms: ({ index }) => ms + (index % 3) - 1, ...options });
  return { plan, entries, verdict: judge(plan, analyse(plan, entries)) };
}

const directions = ({ cells }: AcrossSessions) =>
  cells.flatMap(({ arms }) => arms.map(({ direction }) => direction));

/** Every number in a value, wherever it stands. */
function numbersIn(value: unknown): number[] {
  if (typeof value === 'number') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersIn) : [];
}

describe('the direction between two sessions', () => {
  const base = session('first-session', 100);

  test('is about the same where the ranges of samples meet, and higher or lower where they do not', () => {
    for (const [ms, expected] of [
      [100, 'about the same'],
      [102, 'about the same'],
      [103, 'lower'],
      [98, 'about the same'],
      [97, 'higher'],
    ] as const) {
      const across = acrossSessions(base, session('second-session', ms));
      assert.deepEqual(directions(across), [expected, expected], `${ms} ms`);
    }
  });

  test('turns round with the sessions', () => {
    const other = session('second-session', 50);
    assert.deepEqual(directions(acrossSessions(base, other)), ['higher', 'higher']);
    assert.deepEqual(directions(acrossSessions(other, base)), ['lower', 'lower']);
  });

  test('comes with the word unmatched, and never with an amount', () => {
    const across = acrossSessions(base, session('second-session', 50));
    assert.equal(across.result, 'unmatched');
    assert.equal(across.evidence, 'directional');
    for (const { arms } of across.cells)
      assert.deepEqual(
        arms.map(({ match }) => match),
        ['unmatched', 'unmatched'],
      );
    assert.deepEqual(numbersIn(across), [across.schemaVersion]);
    const text = renderAcrossSessions(across, ['a', 'b']);
    assert.match(text, /head +higher in the second session \(unmatched\)/);
    assert.doesNotMatch(text, /%|\d\.\d|tok\/s|\bx\b/);
    assert.ok(text.split('\n').every((line) => line.length <= 80));
  });

  test('is not said where a session proved no rate, nor across clocks or workloads', () => {
    const warm = session('second-session', 100, {
      alter: alterAnswers(
        ({ launch }) => launch.endsWith('-head'),
        () => ({ cacheN: 16 }),
      ),
    });
    assert.deepEqual(directions(acrossSessions(base, warm)), [null, null]);
    assert.match(acrossSessions(base, warm).cells[0]?.arms[0]?.why ?? '', /second session proved no rate/);
    const wall = session('second-session', 50, {
      changes: { protocol: { clock: 'wall' } },
    });
    assert.deepEqual(directions(acrossSessions(base, wall)), [null, null]);
    const decode = session('second-session', 50, {
      changes: { cells: [{ id: '64/32', promptTokens: 64, chunk: 32, phase: 'decode', generatedTokens: 8 }] },
    });
    assert.deepEqual(directions(acrossSessions(base, decode)), [null, null]);
  });

  test('is of cells and arms that both have; the others are named', () => {
    const other = session('second-session', 50, {
      changes: {
        cells: [
          { promptTokens: 64, chunk: 32 },
          { promptTokens: 96, chunk: 32 },
        ],
        arms: { base: {}, other: {} },
      },
    });
    const across = acrossSessions(base, other);
    assert.deepEqual(
      across.cells.map(({ cell, arms }) => [cell, arms.map(({ arm }) => arm)]),
      [['64/32', ['base']]],
    );
    assert.deepEqual(across.onlyIn, [[], ['96/32']]);
    const text = renderAcrossSessions(across, ['a', 'b']);
    assert.match(text, /only in the second: 96\/32/);
  });
});

describe('the null arm', () => {
  test('is a control of its own session and is not spoken of', () => {
    const [first, second] = ['first-session', 'second-session'].map((name, index) =>
      session(name, 100, {
        changes: { protocol: { nullRounds: 2 } },
        alter: (draft) =>
          draft.kind === 'conditions' && draft.launch.endsWith('-null') && index === 1
            ? { ...draft, fields: { ...draft.fields, 'process.nice': '5' } }
            : draft,
      }),
    );
    assert.ok(first && second);
    assert.ok(first.plan.arms.some(({ control }) => control === 'null'));
    const across = acrossSessions(first, second);
    assert.doesNotMatch(JSON.stringify(across), /"null"/);
    assert.doesNotMatch(renderAcrossSessions(across, ['a', 'b']), /\bnull\b/);
  });
});

describe('conditions of two sessions', () => {
  const setTo =
    (field: string, value: string, launches = /./) =>
    (draft: Draft): Draft =>
      draft.kind === 'conditions' && launches.test(draft.launch)
        ? { ...draft, fields: { ...draft.fields, [field]: value } }
        : draft;

  test('that should be equal and are not are told once, with the values of both', () => {
    const across = acrossSessions(
      session('first-session', 100),
      session('second-session', 100, { alter: setTo('kernel.release', '6.9.0') }),
    );
    assert.deepEqual(across.differences, [
      {
        field: 'kernel.release',
        word: 'kernel release',
        arms: ['base', 'head'],
        first: ['6.1.0'],
        second: ['6.9.0'],
      },
    ]);
    const text = renderAcrossSessions(across, ['a', 'b']);
    assert.match(text, /kernel release \(kernel\.release\)\n +first +6\.1\.0\n +second +6\.9\.0/);
  });

  test('of one arm are told of that arm; what is bounded or recorded is not told', () => {
    const head = session('second-session', 100, { alter: setTo('process.nice', '5', /-head$/) });
    const across = acrossSessions(session('first-session', 100), head);
    assert.deepEqual(
      across.differences.map(({ field, arms }) => [field, arms]),
      [['process.nice', ['head']]],
    );
    assert.match(renderAcrossSessions(across, ['a', 'b']), /\(process\.nice\), arm head\n/);
    const warm = session('second-session', 100, { alter: setTo('start.temperature', '90') });
    assert.deepEqual(acrossSessions(session('first-session', 100), warm).differences, []);
  });

  test('of some of the arms are told of these', () => {
    const changes = { arms: { base: {}, one: {}, two: {} } };
    const across = acrossSessions(
      session('first-session', 100, { changes }),
      session('second-session', 100, { changes, alter: setTo('process.nice', '5', /-(one|two)$/) }),
    );
    assert.deepEqual(
      across.differences.map(({ arms }) => arms),
      [['one', 'two']],
    );
    assert.match(renderAcrossSessions(across, ['a', 'b']), /\(process\.nice\), arms one, two\n/);
  });

  test('that follow from the seed may differ with the seed, and not without', () => {
    const other = setTo('workload.prompts', 'f'.repeat(64));
    const first = session('first-session', 100);
    const second = session('second-session', 100, { alter: other });
    const told = (across: AcrossSessions) => across.differences.map(({ field }) => field);
    assert.deepEqual(told(acrossSessions(first, second)), ['workload.prompts']);
    const drawn = { ...second, plan: { ...second.plan, seed: 'e'.repeat(64) } };
    assert.deepEqual(told(acrossSessions(first, drawn)), []);
  });

  test('include whether an arm is one binary in both', () => {
    const other = session('second-session', 100, {
      alter: (draft) => (draft.kind === 'build' ? { ...draft, binarySha256: 'a'.repeat(64) } : draft),
    });
    const first = session('first-session', 100);
    const same = ({ arms }: AcrossSessions) => arms.map(({ sameBinary }) => sameBinary);
    assert.deepEqual(same(acrossSessions(first, first)), [true, true]);
    assert.deepEqual(same(acrossSessions(first, other)), [false, false]);
  });
});

describe('evidence', () => {
  test('passes a gate only when it was measured side by side', () => {
    const may = evidenceKindSchema.options.filter(mayGate);
    assert.deepEqual(may, ['matched']);
    assert.deepEqual(evidenceKindSchema.options, ['matched', 'borrowed', 'directional']);
    assert.equal(
      mayGate(acrossSessions(session('first-session', 1), session('other-session', 1)).evidence),
      false,
    );
  });
});
