/**
 * Effects of switches from the rows of a design, as contrasts of logarithms of rates. The model is additive: what the switches
 * do, plus what each round was like (rounds are the blocks), plus noise of one launch. For designs whose columns are
 * orthogonal, as ours are, least squares are differences of means.
 */
import type { Design } from '../matrix/schema.js';
import { mean } from './statistics.js';

/** One arm: its levels, and one value a round, ln(rate) up to what is common to all arms of that round. */
export interface DesignRow {
  /** `+` and `-`, one a factor. */
  levels: string;
  perRound: readonly number[];
}

/** A difference of means on the log scale. */
export interface Contrast {
  effect: number;
  /** Standard error; null when nothing tells the noise. */
  error: number | null;
}

/** Pairs of switches (by place among the factors) that one contrast holds together: their effects cannot be told apart. */
interface PairChain extends Contrast {
  pairs: [number, number][];
  /** Parts of other pairs are mixed in, too. */
  mixed: boolean;
}

export interface Noise {
  /** Standard deviation of ln(rate) of one launch; null when there is nothing to tell it from. */
  sigma: number | null;
  /** Degrees of freedom. */
  freedom: number;
  /**
   * `replicates`: the rows repeated over rounds, free of any effect. `residual`: with one round, what the main effects do not
   * explain, so that effects of pairs count as noise and make the bounds wide.
   */
  from: 'replicates' | 'residual' | 'none';
}

export interface DesignEffects {
  noise: Noise;
  /** High against low of each factor, in order; null where a row that it needs is not there. */
  main: (Contrast | null)[];
  /** Of folded designs only. */
  pairs: PairChain[];
  /** All high against all low; null when a row is not there. */
  joint: Contrast | null;
}

const sign = (levels: string, factor: number): number => (levels[factor] === '+' ? 1 : -1);

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Variance within rows once the common course of the rounds is taken out. */
function fromReplicates(rows: readonly DesignRow[], rounds: number): Noise {
  const freedom = (rows.length - 1) * (rounds - 1);
  const rowMeans = rows.map((row) => mean(row.perRound));
  const roundMeans = Array.from({ length: rounds }, (_, round) =>
    mean(rows.map((row) => row.perRound[round] ?? 0)),
  );
  const whole = mean(rowMeans);
  const squares = rows.map((row, index) =>
    sum(
      row.perRound.map(
        (value, round) => (value - (rowMeans[index] ?? 0) - (roundMeans[round] ?? 0) + whole) ** 2,
      ),
    ),
  );
  return { sigma: Math.sqrt(sum(squares) / freedom), freedom, from: 'replicates' };
}

/** What is left of one round once its mean and the main effects are taken out. */
function fromResidual(rows: readonly DesignRow[], main: readonly number[]): Noise {
  const freedom = rows.length - 1 - main.length;
  if (freedom < 1) return { sigma: null, freedom: 0, from: 'none' };
  const values = rows.map((row) => row.perRound[0] ?? 0);
  const whole = mean(values);
  const squares = rows.map(({ levels }, index) => {
    const fitted = whole + sum(main.map((effect, factor) => (effect / 2) * sign(levels, factor)));
    return ((values[index] ?? 0) - fitted) ** 2;
  });
  return { sigma: Math.sqrt(sum(squares) / freedom), freedom, from: 'residual' };
}

/** Weighted sum of the means of rows; the error follows from the weights and the noise of one launch. */
function contrast(rows: readonly DesignRow[], weights: readonly number[], sigma: number | null): Contrast {
  const rounds = rows[0]?.perRound.length ?? 1;
  const effect = sum(rows.map((row, index) => (weights[index] ?? 0) * mean(row.perRound)));
  const squares = sum(weights.map((weight) => weight ** 2));
  return { effect, error: sigma === null ? null : sigma * Math.sqrt(squares / rounds) };
}

/** Mean of the rows in which the product of some factors is high, less the mean of the others. */
const halves = (rows: readonly DesignRow[], factors: readonly number[]): number[] =>
  rows.map(
    ({ levels }) =>
      (2 / rows.length) * factors.reduce((product, factor) => product * sign(levels, factor), 1),
  );

const scalar = (a: readonly number[], b: readonly number[]): number =>
  sum(a.map((value, index) => value * (b[index] ?? 0)));

/** Pairs of factors grouped by contrast: pairs with one contrast are one chain of aliases. */
function pairChains(rows: readonly DesignRow[], factors: number, sigma: number | null): PairChain[] {
  const chains: { weights: number[]; pairs: [number, number][] }[] = [];
  for (let a = 0; a < factors; a++) {
    for (let b = a + 1; b < factors; b++) {
      const weights = halves(rows, [a, b]);
      const same = chains.find((chain) => chain.weights.every((weight, row) => weight === weights[row]));
      if (same === undefined) chains.push({ weights, pairs: [[a, b]] });
      else same.pairs.push([a, b]);
    }
  }
  return chains.map(({ weights, pairs }) => ({
    ...contrast(rows, weights, sigma),
    pairs,
    mixed: chains.some(
      (other) => other.weights !== weights && Math.abs(scalar(weights, other.weights)) > 1e-9,
    ),
  }));
}

/** Weights of the row with levels `high` against that with `low`; null when one is not there. */
function rowAgainstRow(rows: readonly DesignRow[], high: string, low: string): number[] | null {
  if (![high, low].every((levels) => rows.some((row) => row.levels === levels))) return null;
  return rows.map(({ levels }) => (levels === high ? 1 : levels === low ? -1 : 0));
}

/** `reference` with one factor at a level. */
const withLevel = (reference: string, factor: number, level: string): string =>
  reference.slice(0, factor) + level + reference.slice(factor + 1);

/**
 * Effects of all switches. All rows have the same rounds. One at a time, rows may be missing; a folded design needs all of its rows.
 * @throws RangeError without rows or rounds.
 */
export function designEffects(kind: Design['kind'], rows: readonly DesignRow[]): DesignEffects {
  const [reference] = rows;
  const rounds = reference?.perRound.length ?? 0;
  if (reference === undefined || rounds === 0) throw new RangeError('a design without rows or rounds');
  const factors = reference.levels.length;
  const folded = kind === 'folded-plackett-burman';
  const weights = Array.from({ length: factors }, (_, factor) =>
    folded
      ? halves(rows, [factor])
      : rowAgainstRow(
          rows,
          withLevel(reference.levels, factor, '+'),
          withLevel(reference.levels, factor, '-'),
        ),
  );
  const plain = weights.map((own) => (own === null ? 0 : contrast(rows, own, null).effect));
  const nothing: Noise = { sigma: null, freedom: 0, from: 'none' };
  const alone = folded ? fromResidual(rows, plain) : nothing;
  const noise = rounds > 1 && rows.length > 1 ? fromReplicates(rows, rounds) : alone;
  const joint = rowAgainstRow(rows, '+'.repeat(factors), '-'.repeat(factors));
  // With one round, pairs are what the noise is taken from: they cannot be held against it.
  const pairSigma = noise.from === 'replicates' ? noise.sigma : null;
  return {
    noise,
    main: weights.map((own) => (own === null ? null : contrast(rows, own, noise.sigma))),
    pairs: folded ? pairChains(rows, factors, pairSigma) : [],
    joint: joint === null ? null : contrast(rows, joint, noise.sigma),
  };
}
