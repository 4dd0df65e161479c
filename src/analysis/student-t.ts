/** Student's t for whole degrees of freedom, by the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4. */

/** P(|T| < t) for t >= 0. */
function central(t: number, freedom: number): number {
  const angle = Math.atan2(t, Math.sqrt(freedom));
  const cos2 = freedom / (freedom + t * t);
  const sine = Math.sin(angle);
  if (freedom % 2 === 0) {
    let term = 1;
    let sum = 1;
    for (let i = 2; i < freedom; i += 2) {
      term *= (cos2 * (i - 1)) / i;
      sum += term;
    }
    return sine * sum;
  }
  let term = Math.cos(angle);
  let sum = freedom === 1 ? 0 : term;
  for (let i = 3; i < freedom; i += 2) {
    term *= (cos2 * (i - 1)) / i;
    sum += term;
  }
  return (2 / Math.PI) * (angle + sine * sum);
}

/** P(T > t). Absolute error about 1e-15. */
export function tUpperTail(t: number, freedom: number): number {
  const inside = central(Math.abs(t), freedom);
  return t >= 0 ? (1 - inside) / 2 : (1 + inside) / 2;
}

/**
 * The t with P(T < t) = `probability`, for 0 < probability < 1; error below 1e-10 for probabilities from 1e-4 to 1 - 1e-4.
 * By bisection, so that the same bits come out wherever doubles are IEEE.
 */
export function tQuantile(probability: number, freedom: number): number {
  if (!(probability > 0 && probability < 1)) throw new RangeError(`no t quantile at ${probability}`);
  if (!(Number.isInteger(freedom) && freedom >= 1))
    throw new RangeError(`no t with ${freedom} degrees of freedom`);
  if (probability < 0.5) return -tQuantile(1 - probability, freedom);
  const key = `${probability} ${freedom}`;
  const found = known.get(key) ?? bisected(probability, freedom);
  known.set(key, found);
  return found;
}

/** Quantiles found before: a session asks for a few of them, a simulation for the same few a million times. */
const known = new Map<string, number>();

function bisected(probability: number, freedom: number): number {
  const wanted = 2 * probability - 1;
  let high = 1;
  while (central(high, freedom) < wanted) high *= 2;
  let low = 0;
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (central(middle, freedom) < wanted) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
