/** Were the warm-ups enough? The rate within a launch, from the first retained sample to the last. */
import { mean, sampleDeviation } from '../statistics.js';
import { type Estimate, estimateOf } from './interval.js';

/** Share of a change that must be left once the prompts are taken out: below it, place and prompt cannot be told apart. */
const LEAST_LEFT = 0.25;

/** Least-squares change of `values` from the first place to the last. */
function fittedChange(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const centre = mean(values);
  const shared = values.reduce((sum, value, place) => sum + (place - middle) * (value - centre), 0);
  const spread = values.reduce((sum, _, place) => sum + (place - middle) ** 2, 0);
  return (shared / spread) * (values.length - 1);
}

/** Mean of what each prompt got over all launches. */
function meanByPrompt(
  values: readonly (readonly number[])[],
  prompts: readonly (readonly string[])[],
): Map<string, number> {
  const groups = new Map<string, number[]>();
  for (const [launch, own] of values.entries()) {
    for (const [place, value] of own.entries()) {
      const prompt = prompts[launch]?.[place] ?? '';
      groups.set(prompt, [...(groups.get(prompt) ?? []), value]);
    }
  }
  return new Map([...groups].map(([prompt, all]) => [prompt, mean(all)]));
}

function withoutPrompts(
  values: readonly (readonly number[])[],
  prompts: readonly (readonly string[])[],
): number[][] {
  const means = meanByPrompt(values, prompts);
  return values.map((own, launch) =>
    own.map((value, place) => value - (means.get(prompts[launch]?.[place] ?? '') ?? 0)),
  );
}

/**
 * Fitted change of the log rate from the first to the last retained sample of a launch. `rates` are tokens a second, by launch,
 * in order of execution; a launch is one value, `level` is one-sided. `prompts` names what each sample asked: what a prompt costs
 * is taken out, which launches that ask in different orders allow. Null when there are fewer than two samples or launches (three,
 * with prompts), or when the launches ask in so much the same order that place and prompt cannot be told apart.
 */
export function warmUpChange(
  rates: readonly (readonly number[])[],
  level: number,
  prompts?: readonly (readonly string[])[],
): Estimate | null {
  const launches = rates.length;
  const freedom = prompts === undefined ? launches - 1 : launches - 2;
  if (freedom < 1 || rates.some((own) => own.length < 2)) return null;
  const logs = rates.map((own) => own.map(Math.log));
  const changesOf = (values: readonly (readonly number[])[]): number[] =>
    (prompts === undefined ? values : withoutPrompts(values, prompts)).map(fittedChange);
  // What is left of a change of 1 that every launch has: less than all of it where prompts do not take every place equally often.
  const ramp = rates.map((own) => own.map((_, place) => place / (own.length - 1)));
  const left = mean(changesOf(ramp));
  if (left < LEAST_LEFT) return null;
  const changes = changesOf(logs).map((change) => change / left);
  // The means of the prompts are from the same launches, which costs them one degree of freedom.
  const deviation = sampleDeviation(changes) * Math.sqrt((launches - 1) / freedom);
  return estimateOf(mean(changes), deviation / Math.sqrt(launches), freedom, level);
}
