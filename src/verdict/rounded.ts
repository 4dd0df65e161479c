/** Numbers as they are published: ten significant digits, so that the last bit of a logarithm never shows. */

/** A copy of a JSON value whose fractions have at most ten significant digits; negative zero becomes zero. */
export function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value + 0 : Number(value.toPrecision(10));
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]));
  }
  return value;
}
