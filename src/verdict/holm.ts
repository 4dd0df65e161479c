/** Several claims beside each other: Holm's step-down for what may be claimed, Benjamini-Hochberg for ranking what was found. */

/** Places of the p values, smallest first. */
const ascending = (pValues: readonly number[]): { p: number; index: number }[] =>
  pValues.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);

/** For each p, in the order given, whether its claim stands beside the others at one level, whatever their dependence. */
export function holm(pValues: readonly number[], level: number): boolean[] {
  return holmSteps(pValues, level).map(({ stands }) => stands);
}

export interface HolmStep {
  stands: boolean;
  /** Smallest joint level at which the claim would stand, at most 1. */
  adjustedP: number;
  /** Level of its own that the claim faces; those after the first that falls face the level at which that one fell. */
  level: number;
}

/**
 * Holm's procedure step by step, in the order given. A bound at the level of a step excludes "no effect" just when the claim stands,
 * so that intervals and claims never contradict each other.
 */
export function holmSteps(pValues: readonly number[], level: number): HolmStep[] {
  const steps = pValues.map((): HolmStep => ({ stands: false, adjustedP: 1, level }));
  let adjustedP = 0;
  let fallen: number | undefined;
  for (const [step, { p, index }] of ascending(pValues).entries()) {
    const own = level / (pValues.length - step);
    adjustedP = Math.min(1, Math.max(adjustedP, p * (pValues.length - step)));
    if (p > own) fallen ??= own;
    steps[index] = { stands: fallen === undefined, adjustedP, level: fallen ?? own };
  }
  return steps;
}

/**
 * Benjamini-Hochberg: for each p, in the order given, the smallest share of false ones among the findings up to it. For ranking
 * what is looked at without a plan; never for a verdict.
 */
export function benjaminiHochberg(pValues: readonly number[]): number[] {
  const adjusted = pValues.map(() => 1);
  let smallest = 1;
  for (const [step, { p, index }] of [...ascending(pValues).entries()].toReversed()) {
    smallest = Math.min(smallest, (p * pValues.length) / (step + 1));
    adjusted[index] = smallest;
  }
  return adjusted;
}
