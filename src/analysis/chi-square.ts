/** Chi-square for whole degrees of freedom, by the series of the lower incomplete gamma function. */

/** ln of gamma(halves / 2), from gamma(1/2) = sqrt(pi) and gamma(1) = 1 upwards. */
export function lnGammaOfHalf(halves: number): number {
  let sum = halves % 2 === 0 ? 0 : Math.log(Math.PI) / 2;
  for (let at = halves % 2 === 0 ? 2 : 1; at < halves; at += 2) sum += Math.log(at / 2);
  return sum;
}

/** P(X < x). Relative error about 1e-14. */
export function chiSquareCdf(x: number, freedom: number): number {
  if (x <= 0) return 0;
  const [a, z] = [freedom / 2, x / 2];
  let term = Math.exp(a * Math.log(z) - z - lnGammaOfHalf(freedom + 2));
  let sum = 0;
  for (let n = 1; term > sum * 1e-17; n += 1) {
    sum += term;
    term *= z / (a + n);
  }
  return sum;
}

/** The x with P(X < x) = `probability`, for 0 < probability < 1. */
export function chiSquareQuantile(probability: number, freedom: number): number {
  if (!(probability > 0 && probability < 1)) throw new RangeError(`no chi-square quantile at ${probability}`);
  if (!(Number.isInteger(freedom) && freedom >= 1))
    throw new RangeError(`no chi-square with ${freedom} degrees of freedom`);
  let high = freedom;
  while (chiSquareCdf(high, freedom) < probability) high *= 2;
  let low = 0;
  for (let step = 0; step < 80; step++) {
    const middle = (low + high) / 2;
    if (chiSquareCdf(middle, freedom) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
