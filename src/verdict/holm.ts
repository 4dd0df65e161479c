/** Holm's step-down: which of several claims may be made together at one level, whatever their dependence. */

/** For each p, in the order given, whether its claim stands. */
export function holm(pValues: readonly number[], level: number): boolean[] {
  const order = pValues.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const stands = pValues.map(() => false);
  for (const [step, { p, index }] of order.entries()) {
    if (p > level / (pValues.length - step)) break;
    stands[index] = true;
  }
  return stands;
}
