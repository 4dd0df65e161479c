/** The controls of a session, from a journal to what follows: refused, demoted, undecided, or told. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { analyse } from '../../../src/analysis/analyse.js';
import type { Entry } from '../../../src/journal/entries.js';
import type { MatrixInput } from '../../../src/matrix/schema.js';
import { promptsInOrder } from '../../../src/plan/sample-order.js';
import type { Plan } from '../../../src/plan/schema.js';
import { controlLines } from '../../../src/report/controls.js';
import { judge } from '../../../src/verdict/judge.js';
import type { Control, Verdict } from '../../../src/verdict/schema.js';
import { undecidedCells } from '../../../src/verdict/settle.js';
import {
  alterAnswers,
  alterWitness,
  type Draft,
  type JournalOptions,
  makeJournal,
  makePlan,
  verdictOf,
} from '../../fixtures/journal.js';

const protocol = { warmups: 1, samples: 3, looks: [6], clock: 'cpu' as const };
const planOf = (changes: Partial<MatrixInput> & { nullRounds?: number } = {}): Plan => {
  const { nullRounds = 2, ...matrix } = changes;
  return makePlan({ ...matrix, protocol: { ...protocol, ...matrix.protocol, nullRounds } });
};

type Place = { arm: string; round: number; index: number };
/** A few parts in ten thousand that depend on the place alone. */
const noise = ({ arm, round, index }: Place): number =>
  1 + 1e-4 * (((round * 7 + index * 3 + arm.length) % 5) - 2);
/** Milliseconds of an arm relative to 100; with noise. */
const times = (factors: Record<string, number>): JournalOptions => ({
  ms: (place) => 100 * (factors[place.arm] ?? 1) * noise(place),
});

const only = <T>(list: readonly T[]): T => {
  const [item] = list;
  assert.ok(item !== undefined);
  return item;
};
const comparisonOf = (verdict: Verdict) => only(only(verdict.cells).comparisons);
const codesOf = (list: readonly { code: string }[]): string[] => list.map(({ code }) => code);
const controlsOf = (verdict: Verdict, name: Control['name']): Control[] =>
  verdict.controls.filter((control) => control.name === name);

describe('the null arm', () => {
  const plan = planOf();

  test('as fast as the reference is a control that is in order, and no comparison', () => {
    const verdict = verdictOf(plan, times({ head: 0.9 }));
    assert.equal(verdict.exitCode, 0, JSON.stringify(verdict.reasons));
    assert.deepEqual(
      only(verdict.cells).comparisons.map(({ arm }) => arm),
      ['head'],
    );
    assert.deepEqual(Object.keys(only(verdict.cells).arms), ['base', 'head']);
    const control = only(controlsOf(verdict, 'null'));
    assert.equal(control.status, 'ok');
    assert.equal(control.rounds, 2);
    assert.equal(control.limitPercent, 1);
    assert.ok(Math.abs(control.percent ?? 9) < 0.1);
  });

  test('that differs from the reference contaminates the cell, with the figures', () => {
    for (const factor of [0.9, 1.1]) {
      const verdict = verdictOf(plan, times({ head: 0.9, null: factor }));
      assert.equal(verdict.exitCode, 14);
      const { verdict: name, effect, reasons } = comparisonOf(verdict);
      assert.equal(name, 'contaminated');
      assert.equal(effect, null);
      assert.deepEqual(only(verdict.cells).arms, {});
      assert.deepEqual(codesOf(reasons), ['null-arm-moved']);
      assert.match(
        only(reasons).message,
        /base against itself [+-]\d+\.\d+ % \(.* to .*, 2 rounds\), limit ±1 %/,
      );
      assert.equal(only(controlsOf(verdict, 'null')).status, 'exceeded');
      // Slot and order are of the effect, which a refused comparison does not show.
      const names = verdict.controls.map(({ name }) => name);
      assert.deepEqual(names, ['null', 'warm-up', 'warm-up']);
    }
  });

  test('that differs by less than half the budget is in order', () => {
    assert.equal(verdictOf(plan, times({ head: 0.9, null: 1.008 })).exitCode, 0);
  });

  test('whose two rounds do not agree shows nothing', () => {
    const ms = (place: Place): number =>
      (place.arm === 'null' ? (place.round === 0 ? 104 : 100) : 100) * noise(place);
    const verdict = verdictOf(plan, { ms });
    assert.equal(verdict.exitCode, 0);
    // Neither within its limit nor beyond: no refusal, and not in order either.
    const { status, lowerPercent, upperPercent } = only(controlsOf(verdict, 'null'));
    assert.ok((lowerPercent ?? 0) < -1 && (upperPercent ?? 0) > 1);
    assert.equal(status, 'unclear');
    assert.ok(
      controlLines(verdict).some(({ text }) => /^cannot tell at this noise, 64\/32: base/.test(text)),
    );
  });

  test('of one round is not taken', () => {
    const verdict = verdictOf(planOf({ protocol: { ...protocol, looks: [1] } }), times({ null: 2 }));
    assert.equal(verdict.exitCode, 11);
    const control = only(controlsOf(verdict, 'null'));
    assert.deepEqual([control.status, control.rounds, control.percent], ['not-taken', 1, null]);
  });

  test('that the plan does without is missed by a warning', () => {
    const codes = (nullRounds: number): string[] => codesOf(verdictOf(planOf({ nullRounds })).warnings);
    assert.ok(codes(0).includes('no-null-arm'));
    assert.ok(!codes(2).includes('no-null-arm'));
  });

  test('must be launched in its rounds, and in no others', () => {
    const journal = makeJournal(plan);
    const at = (name: string) => (entry: (typeof journal)[number]) =>
      'launch' in entry && entry.launch === name;
    const lost = journal.filter((entry) => !at('r1-null')(entry));
    const verdict = judge(plan, analyse(plan, lost));
    assert.equal(verdict.exitCode, 12);
    assert.match(only(verdict.reasons).message, /arm null has 1 of 2 rounds/);
  });

  test('must be cold, like any other', () => {
    const alter = alterAnswers(
      ({ launch }) => launch.endsWith('-null'),
      () => ({ cacheN: 16 }),
    );
    assert.equal(verdictOf(plan, { alter }).result, 'cold-unproved');
  });

  test('must answer as the reference does', () => {
    const alter = alterAnswers(
      ({ launch }) => launch.endsWith('-null'),
      ({ prompt }) => ({ logitsSha256: prompt.length.toString(16).padStart(64, '0') }),
    );
    const verdict = verdictOf(plan, { alter });
    assert.equal(verdict.exitCode, 13);
    assert.match(only(comparisonOf(verdict).reasons).message, /^null against base: tokens or logits differ/);
    assert.deepEqual(verdict.controls, []);
  });

  test('must be the build that was made for it, with the threads of the others', () => {
    for (const change of [{ buildDigest: 'f'.repeat(64) }, { threads: 3 }]) {
      const verdict = verdictOf(plan, { alter: alterWitness('null', change) });
      assert.equal(verdict.exitCode, 14);
      assert.equal(verdict.result, 'unmatched');
      assert.match(only(comparisonOf(verdict).reasons).message, /null/);
    }
  });

  test('is a second build that comes out the same', () => {
    const entries = makeJournal(plan).flatMap((entry): Entry[] => {
      if (entry.kind !== 'build') return [entry];
      const own = { ...entry, arms: entry.arms.filter((arm) => arm !== 'null') };
      return [own, { ...entry, arms: ['null'], elsewhere: true }];
    });
    assert.equal(judge(plan, analyse(plan, entries)).exitCode, 0);
    const apart = entries.map((entry) => {
      if (entry.kind !== 'ready' || !entry.launch.endsWith('-null')) return entry;
      const switches = { ...entry.witness.switches, DFLASH_OTHER: '1' };
      return { ...entry, witness: { ...entry.witness, switches } };
    });
    assert.equal(only(comparisonOf(judge(plan, analyse(plan, apart))).reasons).code, 'switch-differs');
    const rebuilt = (change: object) => {
      const other = entries.map((entry) =>
        entry.kind === 'build' && entry.arms.includes('null') ? { ...entry, ...change } : entry,
      );
      return codesOf(comparisonOf(judge(plan, analyse(plan, other))).reasons);
    };
    assert.deepEqual(rebuilt({ toolchain: { cmake: '4' } }), ['toolchain-differs']);
    assert.deepEqual(rebuilt({ binarySha256: 'e'.repeat(64) }), ['binary-differs']);
  });

  test('stops a session at its first look', () => {
    const long = planOf({ protocol: { ...protocol, looks: [6, 12] } });
    const wide = (place: Place): number =>
      100 * noise(place) * (place.arm === 'head' && place.round % 2 ? 1.03 : 1);
    const entries = (factor: number) =>
      makeJournal(long, { rounds: 6, ms: (place) => wide(place) * (place.arm === 'null' ? factor : 1) });
    assert.deepEqual(undecidedCells(long, entries(1)), ['64/32']);
    assert.deepEqual(undecidedCells(long, entries(1.1)), []);
  });
});

describe('a lever-off arm', () => {
  const arms = {
    base: { revision: 'a' },
    head: { revision: 'b' },
    off: { revision: 'b', switches: { DFLASH_NEW: '0' }, control: 'lever-off' },
  } as const;
  const plan = planOf({ arms });
  /** Head's engine knows a switch that base's does not. */
  const alter = (draft: Draft): Draft => {
    if (draft.kind !== 'ready' || draft.launch.endsWith('-base') || draft.launch.endsWith('-null'))
      return draft;
    const switches = { DFLASH_NEW: '1', ...draft.witness.switches };
    return { ...draft, witness: { ...draft.witness, switches } };
  };

  test('as fast as the reference leaves the gain to the head', () => {
    const verdict = verdictOf(plan, { ...times({ head: 0.9 }), alter });
    assert.equal(comparisonOf(verdict).detail, 'improved', JSON.stringify(verdict.reasons));
    const control = only(controlsOf(verdict, 'lever-off'));
    assert.deepEqual([control.status, control.arm, control.limitPercent], ['ok', 'off', 2]);
    assert.deepEqual(
      only(verdict.cells).comparisons.map(({ arm }) => arm),
      ['head'],
    );
    assert.ok(!codesOf(verdict.warnings).includes('lever-untested'));
  });

  test('that keeps the gain, or loses speed, or is too noisy to tell takes the claim away, and nothing else', () => {
    const noisy = (place: Place): number =>
      100 *
      noise(place) *
      (place.arm === 'head' ? 0.9 : place.arm === 'off' ? 1 + 0.05 * (place.round % 2) : 1);
    for (const options of [times({ head: 0.9, off: 0.9 }), times({ head: 0.9, off: 1.05 }), { ms: noisy }]) {
      const verdict = verdictOf(plan, { ...options, alter });
      assert.equal(verdict.exitCode, 0);
      const { detail, reasons, effect } = comparisonOf(verdict);
      assert.equal(detail, 'neutral');
      assert.deepEqual(codesOf(reasons), ['gain-not-the-levers']);
      assert.match(only(reasons).message, /off against base [+-±]\d.* % \(/);
      assert.notEqual(effect?.minimumDetectablePercent, null);
    }
  });

  test('says whether it is outside of the budget or only not shown to be within', () => {
    const noisy = (place: Place): number =>
      100 * noise(place) * (place.arm === 'off' ? 1 + 0.05 * (place.round % 2) : 1);
    const outside = only(controlsOf(verdictOf(plan, { ...times({ off: 1.05 }), alter }), 'lever-off'));
    const unclear = only(controlsOf(verdictOf(plan, { ms: noisy, alter }), 'lever-off'));
    assert.deepEqual([outside.status, unclear.status], ['exceeded', 'unclear']);
    assert.match(outside.message, /, shown to be outside ±2 %$/);
    assert.match(unclear.message, /, not shown to be within ±2 %$/);
  });

  test('that is not proved to be comparable shows nothing of the kind', () => {
    const other = alterAnswers(
      ({ launch }) => launch.endsWith('-off'),
      ({ prompt }) => ({ logitsSha256: prompt.length.toString(16).padStart(64, '0') }),
    );
    const verdict = verdictOf(plan, { ...times({ head: 0.9 }), alter: (draft) => other(alter(draft)) });
    assert.equal(comparisonOf(verdict).detail, 'neutral');
    assert.equal(only(controlsOf(verdict, 'lever-off')).status, 'not-taken');
    assert.match(
      only(controlsOf(verdict, 'lever-off')).message,
      /^off is not proved to be comparable with base: .*; see [a-z-]+ in docs\/validity\.md, then measure again$/,
    );
  });

  test('with a switch that no engine knows says so, and what to do', () => {
    const verdict = verdictOf(plan, {
      ...times({ head: 0.9 }),
      alter: alterWitness('off', { switches: {} }),
    });
    assert.match(
      only(controlsOf(verdict, 'lever-off')).message,
      /comparable with base: r\S+-off: asked for DFLASH_NEW=0, but the engine does not know it; give the lever a name/,
    );
  });

  test('decides nothing by itself', () => {
    const verdict = verdictOf(plan, { ...times({ off: 2 }), alter });
    assert.equal(verdict.exitCode, 0);
  });

  test('that is not there is missed by a warning that names the new switches', () => {
    const { off: _, ...two } = arms;
    const without = planOf({ arms: two });
    const warning = verdictOf(without, { alter }).warnings.find(({ code }) => code === 'lever-untested');
    assert.match(warning?.message ?? '', /head brings DFLASH_NEW/);
    assert.ok(!codesOf(verdictOf(without).warnings).includes('lever-untested'));
  });
});

describe('warm-ups', () => {
  const plan = planOf();
  /** A rate that rises by `ramp` over the samples of a launch, and prompts that cost what they cost. */
  const warming = (own: Plan, ramp: number, only = 'head'): JournalOptions => ({
    ms: (place) => {
      const order = promptsInOrder(own, '64/32', 'sample', place.round).map(({ index }) => index);
      const at = order.indexOf(place.index) / (order.length - 1);
      return 100 * noise(place) * (1 + 0.02 * place.index) * (place.arm === only ? 1 - ramp * at : 1);
    },
  });

  test('that were enough are told, by arm, whatever the prompts cost', () => {
    const verdict = verdictOf(plan, warming(plan, 0));
    assert.equal(verdict.exitCode, 0, JSON.stringify(verdict.reasons));
    assert.deepEqual(
      controlsOf(verdict, 'warm-up').map(({ arm, status, limitPercent }) => [arm, status, limitPercent]),
      [
        ['base', 'ok', 0.5],
        ['head', 'ok', 0.5],
      ],
    );
  });

  test('that were too few contaminate the cell, in whichever arm', () => {
    for (const arm of ['base', 'head']) {
      const verdict = verdictOf(plan, warming(plan, 0.03, arm));
      assert.equal(verdict.exitCode, 14);
      assert.deepEqual(codesOf(comparisonOf(verdict).reasons), ['warm-up-insufficient']);
      assert.match(
        only(comparisonOf(verdict).reasons).message,
        new RegExp(`${arm} \\+3.*raise .protocol.warmups`),
      );
    }
  });

  test('after which the engine slows down contaminate it as well', () => {
    const verdict = verdictOf(plan, warming(plan, -0.03));
    assert.match(only(comparisonOf(verdict).reasons).message, /slows down while it is measured/);
  });

  test('are not blamed for a change within a quarter of the budget', () => {
    assert.equal(verdictOf(plan, warming(plan, 0.004)).exitCode, 0);
  });

  test('below six rounds are told by a warning', () => {
    const four = planOf({ protocol: { ...protocol, looks: [4] } });
    const verdict = verdictOf(four, warming(four, 0.1));
    assert.equal(verdict.exitCode, 11);
    assert.ok(codesOf(verdict.warnings).includes('warm-up-insufficient'));
  });

  test('of a single sample cannot be judged', () => {
    const verdict = verdictOf(planOf({ protocol: { ...protocol, samples: 1 } }), times({}));
    assert.ok(controlsOf(verdict, 'warm-up').every(({ status }) => status === 'not-taken'));
    assert.equal(verdict.exitCode, 0);
  });
});

describe('slot and order', () => {
  const plan = planOf();
  const isSecond = (own: Plan, { arm, round }: Place): boolean => {
    const order = own.rounds[round]?.order.filter((name) => name !== 'null') ?? [];
    return order.indexOf(arm) === 1;
  };

  test('a second launch that is slower is told, and the verdict stands', () => {
    const ms = (place: Place): number => 100 * noise(place) * (isSecond(plan, place) ? 1.015 : 1);
    const verdict = verdictOf(plan, { ms });
    const control = only(controlsOf(verdict, 'slot'));
    assert.equal(control.status, 'exceeded');
    assert.ok(Math.abs((control.percent ?? 0) + 1.48) < 0.05, `${control.percent}`);
    assert.match(
      verdict.warnings.find(({ code }) => code === 'slot-effect')?.message ?? '',
      /64\/32, head: second/,
    );
    assert.notEqual(verdict.exitCode, 14);
    const small = verdictOf(plan, {
      ms: (place) => 100 * noise(place) * (isSecond(plan, place) ? 1.005 : 1),
    });
    assert.equal(only(controlsOf(small, 'slot')).status, 'ok');
    assert.ok(!codesOf(small.warnings).includes('slot-effect'));
  });

  /** Launches whose time is their place among all, except that the first launches of base lie far back. */
  const timed = (
    own: Plan,
    options: JournalOptions,
    atNs: (place: { arm: string; round: number }) => number,
  ) =>
    makeJournal(own, options).map((entry) =>
      entry.kind === 'launch' ? { ...entry, atNs: String(Math.round(atNs(entry))) } : entry,
    );

  test('an effect that turns round when a drift is taken out decides nothing', () => {
    // Head is launched long after base in each round, and the machine gains speed all the time.
    const time = ({ arm, round }: { arm: string; round: number }): number =>
      1000 * round + (arm === 'head' ? 900 : 0);
    const rate = (place: Place): number => 1 + 2e-5 * time(place) - (place.arm === 'head' ? 0.002 : 0);
    const options = { ms: (place: Place) => (100 * noise(place)) / rate(place) };
    const own = planOf({ nullRounds: 0 });
    const verdict = judge(own, analyse(own, timed(own, options, time)));
    assert.equal(verdict.exitCode, 11, JSON.stringify(comparisonOf(verdict)));
    const { reasons, effect } = comparisonOf(verdict);
    assert.deepEqual(codesOf(reasons), ['order-contradicts']);
    assert.ok((effect?.lower ?? 0) > 1);
    assert.equal(effect?.roundsStillNeeded, null);
    const control = only(controlsOf(verdict, 'order'));
    assert.equal(control.status, 'exceeded');
    assert.ok(Math.abs((control.percent ?? 0) + 0.2) < 0.05, `${control.percent}`);
  });

  test('goes on at a look that is not the last', () => {
    const time = ({ arm, round }: { arm: string; round: number }): number =>
      1000 * round + (arm === 'head' ? 900 : 0);
    const rate = (place: Place): number => 1 + 2e-5 * time(place) - (place.arm === 'head' ? 0.002 : 0);
    const own = planOf({ nullRounds: 0, protocol: { ...protocol, looks: [6, 12] } });
    const options = { rounds: 6, ms: (place: Place) => (100 * noise(place)) / rate(place) };
    assert.deepEqual(undecidedCells(own, timed(own, options, time)), ['64/32']);
  });

  test('a drift over the session leaves an effect as it is', () => {
    const own = planOf({ nullRounds: 0 });
    const places = new Map(
      own.rounds.flatMap(({ round, order }) =>
        order.map((arm, position) => [`${arm} ${round}`, 2 * round + position] as const),
      ),
    );
    const time = ({ arm, round }: { arm: string; round: number }): number =>
      places.get(`${arm} ${round}`) ?? 0;
    const ms = (place: Place): number =>
      100 * noise(place) * (1 + 0.002 * time(place)) * (place.arm === 'head' ? 0.97 : 1);
    const verdict = judge(own, analyse(own, timed(own, { ms }, time)));
    const control = only(controlsOf(verdict, 'order'));
    assert.equal(control.status, 'ok');
    assert.equal(comparisonOf(verdict).detail, 'improved');
    assert.ok(Math.abs((control.percent ?? 0) - 100 * (1 / 0.97 - 1)) < 0.05, `${control.percent}`);
  });
});

describe('the list of controls', () => {
  test('has every control of every cell', () => {
    const plan = planOf({
      cells: [
        { promptTokens: 64, chunk: 32 },
        { promptTokens: 96, chunk: 32 },
      ],
    });
    const { controls } = verdictOf(plan);
    const names = ['null', 'warm-up', 'warm-up', 'slot', 'order'];
    assert.deepEqual(
      controls.map(({ cell, name }) => [cell, name]),
      ['64/32', '96/32'].flatMap((cell) => names.map((name) => [cell, name])),
    );
  });

  test('is silent on a cell that lacks a proof', () => {
    const alter = alterAnswers(
      () => true,
      () => ({ cacheN: 1 }),
    );
    assert.deepEqual(verdictOf(planOf(), { alter }).controls, []);
  });
});

describe('a cell with a cap', () => {
  const cells = [
    { promptTokens: 64, chunk: 32, cap: 6 },
    { promptTokens: 96, chunk: 32 },
  ];
  const plan = planOf({ cells, protocol: { ...protocol, looks: [6, 12] } });
  const undecided = (place: Place): number =>
    100 * noise(place) * (place.arm === 'head' ? 1.01 + 0.03 * (place.round % 2) : 1);

  test('stops there, undecided, while others go on', () => {
    const entries = makeJournal(plan, { rounds: 6, ms: undecided });
    assert.deepEqual(undecidedCells(plan, entries), ['96/32']);
  });

  test('has no look after it', () => {
    const { cells: analysed } = analyse(plan, makeJournal(plan, { ms: undecided }));
    assert.deepEqual(
      analysed.map((cell) => cell.looks.map(({ rounds }) => rounds)),
      [[6], [6, 12]],
    );
  });

  test('is judged by its own last look', () => {
    const verdict = verdictOf(plan, { ms: undecided });
    const rounds = verdict.cells.map((cell) => only(cell.comparisons).effect?.rounds);
    assert.deepEqual(rounds, [6, 12]);
    assert.equal(verdict.protocol, 'full');
  });

  test('below six rounds cannot pass, and says so', () => {
    const capped = planOf({
      cells: [
        { promptTokens: 64, chunk: 32, cap: 2 },
        { promptTokens: 96, chunk: 32 },
      ],
      protocol: { ...protocol, looks: [2, 6] },
    });
    const verdict = verdictOf(capped, times({ head: 0.5 }));
    assert.deepEqual(
      verdict.cells.map((cell) => cell.verdict),
      ['inconclusive', 'pass'],
    );
    assert.match(
      verdict.warnings.find(({ code }) => code === 'few-rounds')?.message ?? '',
      /64\/32 cannot pass/,
    );
    assert.equal(verdict.protocol, 'small');
  });
});

describe('what the rounds could see', () => {
  const spread = (centre: number, size: number) => (place: Place) =>
    100 * noise(place) * (place.arm === 'head' ? centre * (1 + size * ((place.round % 3) - 1)) : 1);
  const detailAt = (centre: number, size: number, looks: number[] = [6]) => {
    const verdict = verdictOf(planOf({ protocol: { ...protocol, looks } }), { ms: spread(centre, size) });
    return comparisonOf(verdict);
  };

  test('is told of everything but an improvement', () => {
    const cases: [string | null, number, number][] = [
      ['improved', 0.9, 0.001],
      ['neutral', 1, 0.005],
      ['slower-in-budget', 1.01, 0.001],
      ['beyond-budget', 1.1, 0.001],
      ['slower-not-cleared', 1.02, 0.008],
      [null, 1.01, 0.03],
    ];
    for (const [detail, centre, size] of cases) {
      const { effect, ...comparison } = detailAt(centre, size);
      assert.equal(comparison.detail, detail, `${centre} ${size}`);
      assert.equal(effect?.minimumDetectablePercent === null, detail === 'improved', `${detail}`);
      const needed = detail === null || detail === 'slower-not-cleared';
      assert.equal(effect?.roundsStillNeeded !== null, needed, `${detail}`);
    }
  });

  test('and how many rounds would decide are told of two to five rounds; of one only the latter', () => {
    for (const rounds of [2, 3, 4, 5]) {
      const { verdict, effect, reasons } = detailAt(1, 0.01, [rounds]);
      assert.equal(verdict, 'inconclusive');
      assert.ok((effect?.minimumDetectablePercent ?? 0) > 0.1, `${rounds}`);
      assert.equal(effect?.roundsStillNeeded, 6 - rounds);
      assert.match(
        only(reasons).message,
        new RegExp(`${6 - rounds} more; these rounds can see a slowdown of`),
      );
    }
    const { effect } = detailAt(1, 0.01, [1]);
    assert.equal(effect?.minimumDetectablePercent, null);
    assert.equal(effect?.roundsStillNeeded, 5);
  });
});

describe('the protocol of a verdict', () => {
  test('is small below six rounds, for a gate to refuse by', () => {
    for (const [rounds, word] of [
      [1, 'small'],
      [5, 'small'],
      [6, 'full'],
    ] as const) {
      assert.equal(verdictOf(planOf({ protocol: { ...protocol, looks: [rounds] } })).protocol, word);
    }
  });
});
