/** Were the warm-ups enough? The rate within a launch, from the first retained sample to the last. */
import { limits } from '../limits.js';
import { type Estimate, estimateOf, isBeyond } from './interval.js';

/** Share of the places' spread that must be left once the prompts are taken out: below it, place and prompt are one thing. */
const LEAST_LEFT = 0.25;

/** Where the samples of some launches stand. All that is measured in one order shares it. */
export interface Places {
  /** At which sample each launch begins, and one more at the end. */
  starts: readonly number[];
  /** Which prompt each sample asked, from 0; null when prompts are not told apart. */
  prompts: readonly number[] | null;
  /** Samples of each prompt. */
  asked: readonly number[];
  /** The place of each sample, 0 for the first of a launch and 1 for the last, less what launch and prompt explain. */
  place: readonly number[];
  /** Sum of squares of `place`. */
  spread: number;
  /** What each log rate weighs in the fitted change. */
  weights: readonly number[];
  freedom: number;
}

type Grouping = Pick<Places, 'starts' | 'prompts' | 'asked'>;

/** Takes out of each value the mean of its launch, in place. */
function takeOutLaunches(values: number[], starts: readonly number[]): void {
  for (let launch = 1; launch < starts.length; launch++) {
    const [from, to] = [starts[launch - 1] ?? 0, starts[launch] ?? 0];
    let sum = 0;
    for (let at = from; at < to; at++) sum += values[at] ?? 0;
    const middle = sum / (to - from);
    for (let at = from; at < to; at++) values[at] = (values[at] ?? 0) - middle;
  }
}

/** Takes out of each value the mean of its prompt over launches, in place. */
function takeOutPrompts(values: number[], { prompts, asked }: Grouping): void {
  if (prompts === null) return;
  const means = asked.map(() => 0);
  for (let at = 0; at < values.length; at++) {
    const prompt = prompts[at] ?? 0;
    means[prompt] = (means[prompt] ?? 0) + (values[at] ?? 0) / (asked[prompt] ?? 1);
  }
  for (let at = 0; at < values.length; at++) values[at] = (values[at] ?? 0) - (means[prompts[at] ?? 0] ?? 0);
}

const squared = (values: readonly number[]): number => values.reduce((sum, value) => sum + value * value, 0);

/**
 * The places of launches with so many samples each. `prompts` names what each sample asked, each launch the same prompts in its own
 * order: what a prompt costs is then taken out. Null when there are fewer than two samples or launches (three, with prompts), or when
 * the launches ask in so much the same order that place and prompt cannot be told apart.
 */
export function placesOf(sizes: readonly number[], prompts?: readonly (readonly string[])[]): Places | null {
  const launches = sizes.length;
  // The means of the prompts are from the same launches, which costs a degree of freedom.
  const freedom = prompts === undefined ? launches - 1 : launches - 2;
  if (freedom < 1 || sizes.some((size) => size < 2)) return null;
  const starts = [0];
  for (const size of sizes) starts.push((starts.at(-1) ?? 0) + size);
  const names = new Map<string, number>();
  const ids = prompts?.flatMap((own, launch) =>
    own.slice(0, sizes[launch]).map((name) => {
      const id = names.get(name) ?? names.size;
      names.set(name, id);
      return id;
    }),
  );
  const asked = Array.from({ length: names.size }, () => 0);
  for (const id of ids ?? []) asked[id] = (asked[id] ?? 0) + 1;
  const grouping: Grouping = { starts, prompts: ids ?? null, asked };
  const place = sizes.flatMap((size) => Array.from({ length: size }, (_, at) => at / (size - 1)));
  takeOutLaunches(place, starts);
  const whole = squared(place);
  takeOutPrompts(place, grouping);
  const spread = squared(place);
  if (spread < LEAST_LEFT * whole) return null;
  // To take the means out of rates is to take them out of their weights, in the other order.
  const weights = place.map((own) => own / spread);
  takeOutPrompts(weights, grouping);
  takeOutLaunches(weights, starts);
  return { ...grouping, place, spread, weights, freedom };
}

/**
 * Fitted change of log rates, one for each of `places`, from the first retained sample of a launch to the last: least squares on the
 * place.
 */
export function fittedChange({ weights }: Places, logRates: ArrayLike<number>): number {
  let change = 0;
  for (let at = 0; at < weights.length; at++) change += (weights[at] ?? 0) * (logRates[at] ?? 0);
  return change;
}

/** That change with the launch as the unit, so that the spread between launches makes the interval. `level` is one-sided. */
export function changeAlong(places: Places, logRates: ArrayLike<number>, level: number): Estimate {
  const { starts, place, spread, freedom } = places;
  const logs = place.map((_, at) => logRates[at] ?? 0);
  takeOutLaunches(logs, starts);
  takeOutPrompts(logs, places);
  const change = fittedChange(places, logRates);
  let squares = 0;
  for (let launch = 1; launch < starts.length; launch++) {
    let score = 0;
    for (let at = starts[launch - 1] ?? 0; at < (starts[launch] ?? 0); at++) {
      const own = place[at] ?? 0;
      score += own * ((logs[at] ?? 0) - change * own);
    }
    squares += score * score;
  }
  const launches = starts.length - 1;
  return estimateOf(change, Math.sqrt((launches / freedom) * squares) / spread, freedom, level);
}

/** That change of rates in tokens a second, by launch, in order of execution; null where `placesOf` is. */
export function warmUpChange(
  rates: readonly (readonly number[])[],
  level: number,
  prompts?: readonly (readonly string[])[],
): Estimate | null {
  const places = placesOf(
    rates.map(({ length }) => length),
    prompts,
  );
  return places === null ? null : changeAlong(places, rates.flat().map(Math.log), level);
}

/** Percent that the rate may change, at a margin. */
export const warmUpLimit = (marginPercent: number): number => marginPercent * limits.warmUpShare;

/** The whole interval lies beyond that. */
export const isUnsteady = (change: Estimate, marginPercent: number): boolean =>
  isBeyond(change, warmUpLimit(marginPercent));
