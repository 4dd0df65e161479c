/** Effects from designs: exact without noise, with the right error, and with bounds that hold as often as they say. Seeded. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type DesignEffects, type DesignRow, designEffects } from '../../../src/analysis/design-effects.js';
import { tQuantile } from '../../../src/analysis/student-t.js';
import { designRows } from '../../../src/matrix/folded-design.js';
import type { Design } from '../../../src/matrix/schema.js';
import { Stream } from '../../../src/plan/stream.js';
import { normal } from '../../fixtures/normal.js';

const folded = 'folded-plackett-burman';
const high = (row: string, factor: number): number => (row[factor] === '+' ? 1 : 0);

/** Rows of a design with values of a model: main effects of high over low, and what more a row and a round have. */
function rowsOf(
  kind: Design['kind'],
  main: readonly number[],
  rounds: number,
  more: (row: string, round: number) => number = () => 0,
): DesignRow[] {
  return designRows(kind, main.length, '-').map((levels) => ({
    levels,
    perRound: Array.from(
      { length: rounds },
      (_, round) =>
        5 +
        main.reduce((sum, effect, factor) => sum + effect * high(levels, factor), 0) +
        more(levels, round),
    ),
  }));
}

const planted = [0.3, -0.05, 0, 0.02, 0.11, 0, -0.2, 0.001];
const near = (a: number | undefined, b: number, within = 1e-12): boolean =>
  Math.abs((a ?? Number.NaN) - b) < within;
const effectsOf = ({ main }: DesignEffects): (number | undefined)[] => main.map((own) => own?.effect);

describe('without noise', () => {
  for (const kind of ['one-at-a-time', folded] as const)
    for (const rounds of [1, 2, 3])
      test(`${kind} finds the planted effects exactly in ${rounds} rounds, whatever the rounds have in common`, () => {
        const rows = rowsOf(kind, planted, rounds, (_, round) => 0.4 * round ** 2);
        const found = designEffects(kind, rows);
        effectsOf(found).forEach((effect, factor) => {
          assert.ok(near(effect, planted[factor] ?? 0), `${factor}: ${effect}`);
        });
        const all = planted.reduce((sum, effect) => sum + effect, 0);
        assert.ok(near(found.joint?.effect, all));
        if (found.noise.sigma !== null) assert.ok(found.noise.sigma < 1e-12);
      });

  test('a pair of switches leaves the effects of single switches alone, and shows in its chain', () => {
    const pair = (row: string): number => 0.08 * high(row, 0) * high(row, 4);
    const found = designEffects(folded, rowsOf(folded, planted, 2, pair));
    // Both switches of the pair get half of it, in the mean over the other; no third one gets any.
    effectsOf(found).forEach((effect, factor) => {
      const own = (planted[factor] ?? 0) + (factor === 0 || factor === 4 ? 0.04 : 0);
      assert.ok(near(effect, own), `${factor}: ${effect} is not ${own}`);
    });
    const chains = found.pairs.filter(({ effect }) => Math.abs(effect) > 1e-9);
    assert.equal(chains.length, 1);
    assert.ok(chains[0]?.pairs.some(([a, b]) => a === 0 && b === 4));
    assert.ok(near(chains[0]?.effect, 0.04));
  });

  test('one at a time does not see the pair, but where both are on', () => {
    const pair = (row: string): number => 0.08 * high(row, 0) * high(row, 4);
    const found = designEffects('one-at-a-time', rowsOf('one-at-a-time', planted, 2, pair));
    effectsOf(found).forEach((effect, factor) => {
      assert.ok(near(effect, planted[factor] ?? 0));
    });
    assert.deepEqual(found.pairs, []);
    assert.ok(
      near(
        found.joint?.effect,
        planted.reduce((sum, effect) => sum + effect, 0.08),
      ),
    );
  });

  test('eight switches have 28 pairs in 7 chains of 4, twelve have 66 that are mixed with each other', () => {
    const chains = designEffects(folded, rowsOf(folded, planted, 2)).pairs;
    assert.deepEqual(
      chains.map(({ pairs, mixed }) => [pairs.length, mixed]),
      Array.from({ length: 7 }, () => [4, false]),
    );
    const twelve = designEffects(folded, rowsOf(folded, [...planted, 0, 0, 0, 0], 2)).pairs;
    assert.equal(twelve.flatMap(({ pairs }) => pairs).length, 66);
    assert.ok(twelve.every(({ mixed }) => mixed));
  });

  test('one at a time does without a row that is missing; what needs it has no effect', () => {
    const rows = rowsOf('one-at-a-time', planted, 3).filter((_, index) => index !== 3 && index !== 9);
    const found = designEffects('one-at-a-time', rows);
    assert.equal(found.main[2], null);
    assert.equal(found.joint, null);
    assert.ok(near(found.main[0]?.effect, 0.3));
  });

  test('with as many switches as columns, all on against all off is the sum by construction: agreement says nothing', () => {
    const stream = new Stream('0'.repeat(64), 'identity');
    for (const factors of [1, 2, 4, 8, 12, 16]) {
      const rows = designRows(folded, factors, '-').map((levels) => ({ levels, perRound: [normal(stream)] }));
      const { main, joint } = designEffects(folded, rows);
      const all = main.reduce((sum, contrast) => sum + (contrast?.effect ?? 0), 0);
      assert.ok(near(joint?.effect, all), `${factors} switches`);
    }
  });

  test('a scale of all rates changes nothing, and swapping levels negates all', () => {
    const rows = rowsOf(folded, planted, 2);
    const scaled = rows.map((row) => ({
      ...row,
      perRound: row.perRound.map((value) => value + Math.log(7)),
    }));
    const mirrored = rows.map(({ levels, perRound }) => ({
      perRound,
      levels: Array.from(levels, (level) => (level === '+' ? '-' : '+')).join(''),
    }));
    const [own, other, swapped] = [rows, scaled, mirrored].map((some) => designEffects(folded, some));
    own?.main.forEach((contrast, factor) => {
      assert.ok(near(other?.main[factor]?.effect, contrast?.effect ?? Number.NaN));
      assert.ok(near(swapped?.main[factor]?.effect, -(contrast?.effect ?? Number.NaN)));
    });
  });
});

describe('with noise', () => {
  const noisy = (stream: Stream, kind: Design['kind'], rounds: number, sigma: number): DesignEffects => {
    const drift = Array.from({ length: rounds }, () => normal(stream));
    return designEffects(
      kind,
      rowsOf(kind, planted, rounds, (_, round) => (drift[round] ?? 0) + sigma * normal(stream)),
    );
  };

  test('16 arms have the error 2 sigma / sqrt(16) for every switch, and R rounds that over sqrt(R)', () => {
    const stream = new Stream('0'.repeat(64), 'errors');
    for (const rounds of [1, 2, 4]) {
      const { noise, main } = noisy(stream, folded, rounds, 0.01);
      assert.ok(noise.sigma !== null && noise.sigma > 0);
      const wanted = (2 * noise.sigma) / Math.sqrt(16 * rounds);
      for (const contrast of main) assert.ok(near(contrast?.error ?? undefined, wanted));
    }
    // One at a time the same launches tell less: sigma sqrt(2 / R) with 10 arms.
    const { noise, main } = noisy(stream, 'one-at-a-time', 4, 0.01);
    assert.ok(near(main[0]?.error ?? undefined, (noise.sigma ?? 0) * Math.sqrt(2 / 4)));
  });

  test('degrees of freedom are those of the rows repeated, and with one round those that single switches leave', () => {
    const stream = new Stream('0'.repeat(64), 'freedom');
    const told = ([kind, rounds]: [Design['kind'], number]): unknown => {
      const { noise } = noisy(stream, kind, rounds, 0.01);
      return [noise.freedom, noise.from];
    };
    assert.deepEqual(told([folded, 2]), [15, 'replicates']);
    assert.deepEqual(told([folded, 1]), [7, 'residual']);
    assert.deepEqual(told(['one-at-a-time', 6]), [45, 'replicates']);
    assert.deepEqual(told(['one-at-a-time', 1]), [0, 'none']);
  });

  for (const [kind, rounds, freedom] of [
    [folded, 1, 7],
    [folded, 2, 15],
    ['one-at-a-time', 2, 9],
  ] as const)
    test(`95 % bounds of ${kind} in ${rounds} rounds hold in 95 % of cases, those of a normal would not`, () => {
      const stream = new Stream('0'.repeat(64), `coverage ${kind} ${rounds}`);
      const trials = 4000;
      const quantile = tQuantile(0.975, freedom);
      let [held, normally, squares] = [0, 0, 0];
      for (let trial = 0; trial < trials; trial++) {
        const { main, noise } = noisy(stream, kind, rounds, 0.02);
        const contrast = main[trial % main.length];
        const off = Math.abs((contrast?.effect ?? 0) - (planted[trial % main.length] ?? 0));
        const error = contrast?.error ?? 0;
        if (off <= quantile * error) held++;
        if (off <= 1.96 * error) normally++;
        squares += (noise.sigma ?? 0) ** 2;
      }
      const share = held / trials;
      // The share has a standard error of .0034.
      assert.ok(Math.abs(share - 0.95) < 0.0125, `${share}`);
      assert.ok(normally / trials < 0.9375, `${normally / trials}`);
      assert.ok(Math.abs(squares / trials / 0.02 ** 2 - 1) < 0.05, `${squares / trials}`);
    });

  test('refuses a design without rows', () => {
    assert.throws(() => designEffects(folded, []), RangeError);
  });
});
