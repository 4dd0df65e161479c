/** Were the warm-ups enough? The rate within a launch, from the first retained sample to the last. */
import { mean } from '../statistics.js';
import { type Estimate, estimateOf } from './interval.js';

/** Share of the places' spread that must be left once the prompts are taken out: below it, place and prompt are one thing. */
const LEAST_LEFT = 0.25;

type Table = readonly (readonly number[])[];

/** Each value less the mean of its launch. */
const withinLaunches = (values: Table): number[][] =>
  values.map((own) => {
    const middle = mean(own);
    return own.map((value) => value - middle);
  });

/** Each value less the mean of its prompt over launches. */
function withoutPrompts(values: Table, prompts: readonly (readonly string[])[]): number[][] {
  const groups = new Map<string, number[]>();
  const at = (launch: number, place: number): string => prompts[launch]?.[place] ?? '';
  for (const [launch, own] of values.entries()) {
    for (const [place, value] of own.entries()) {
      const prompt = at(launch, place);
      groups.set(prompt, [...(groups.get(prompt) ?? []), value]);
    }
  }
  const means = new Map([...groups].map(([prompt, all]) => [prompt, mean(all)]));
  return values.map((own, launch) => own.map((value, place) => value - (means.get(at(launch, place)) ?? 0)));
}

const products = (a: Table, b: Table): number[] =>
  a.map((own, launch) => own.reduce((sum, value, place) => sum + value * (b[launch]?.[place] ?? 0), 0));

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/**
 * Fitted change of the log rate from the first to the last retained sample of a launch: least squares on the place, with the
 * launch as the unit, so that the spread between launches makes the interval. `rates` are tokens a second, by launch, in order of
 * execution; `level` is one-sided. `prompts` names what each sample asked, each launch the same prompts in its own order: what a
 * prompt costs is taken out. Null when there are fewer than two samples or launches (three, with prompts), or when the launches
 * ask in so much the same order that place and prompt cannot be told apart.
 */
export function warmUpChange(
  rates: Table,
  level: number,
  prompts?: readonly (readonly string[])[],
): Estimate | null {
  const launches = rates.length;
  // The means of the prompts are from the same launches, which costs a degree of freedom.
  const freedom = prompts === undefined ? launches - 1 : launches - 2;
  if (freedom < 1 || rates.some((own) => own.length < 2)) return null;
  const cleared = (values: Table): number[][] => {
    const within = withinLaunches(values);
    return prompts === undefined ? within : withoutPrompts(within, prompts);
  };
  const places = rates.map((own) => own.map((_, place) => place / (own.length - 1)));
  const place = cleared(places);
  const spread = total(products(place, place));
  const whole = withinLaunches(places);
  if (spread < LEAST_LEFT * total(products(whole, whole))) return null;
  const logs = cleared(rates.map((own) => own.map(Math.log)));
  const change = total(products(place, logs)) / spread;
  const rest = logs.map((own, launch) => own.map((value, at) => value - change * (place[launch]?.[at] ?? 0)));
  const squares = total(products(place, rest).map((score) => score * score));
  return estimateOf(change, Math.sqrt((launches / freedom) * squares) / spread, freedom, level);
}
