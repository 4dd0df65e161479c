/** Percentages in messages: one decimal below ten, a sign always. */

/** A ratio of rates as a signed percentage, such as `+89.2 %` or `-0.31 %`. */
export function signedPercent(ratio: number): string {
  const percent = 100 * (ratio - 1);
  const digits = Math.abs(percent) < 9.95 ? 2 : 1;
  const text = percent.toFixed(digits);
  const zero = Number(text) === 0;
  return `${zero ? '±0.00' : percent > 0 ? `+${text}` : text} %`;
}

/** A plain percentage without padding zeros, such as `2 %`. */
export const plainPercent = (percent: number): string => `${Number(percent.toPrecision(3))} %`;
