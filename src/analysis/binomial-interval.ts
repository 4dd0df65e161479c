/** The exact interval of a share (Clopper and Pearson): what `hits` of `count` trials say of the chance behind them. */

/** P(X <= hits) of `count` trials at `chance`. */
function binomialCdf(hits: number, count: number, chance: number): number {
  if (chance <= 0) return 1;
  if (chance >= 1) return hits >= count ? 1 : 0;
  let ln = count * Math.log1p(-chance);
  let sum = 0;
  for (let k = 0; k <= hits; k++) {
    sum += Math.exp(ln);
    ln += Math.log(((count - k) / (k + 1)) * (chance / (1 - chance)));
  }
  return Math.min(1, sum);
}

/** The chance at which a function that falls with it takes a value. */
function solve(falling: (chance: number) => number, value: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (falling(middle) > value) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Bounds of the chance at two-sided `confidence`, such as 0.95; 0 to 1 without any trial. */
export function binomialInterval(
  hits: number,
  count: number,
  confidence: number,
): { lower: number; upper: number } {
  if (!(Number.isInteger(hits) && Number.isInteger(count) && hits >= 0 && hits <= count))
    throw new RangeError(`there are no ${hits} of ${count}`);
  const tail = (1 - confidence) / 2;
  return {
    lower: hits === 0 ? 0 : solve((chance) => binomialCdf(hits - 1, count, chance), 1 - tail),
    upper: hits === count ? 1 : solve((chance) => binomialCdf(hits, count, chance), tail),
  };
}
