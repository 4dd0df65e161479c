/** Where two JSON values part. */

/** Path of the first difference, as `cells[0].arms.head.median is 2, not 1`, or null when the values are equal. */
export function firstJsonDifference(found: unknown, expected: unknown, path = ''): string | null {
  if (Object.is(found, expected)) return null;
  if (!isContainer(found) || !isContainer(expected) || Array.isArray(found) !== Array.isArray(expected)) {
    return `${path || 'the value'} is ${show(found)}, not ${show(expected)}`;
  }
  for (const key of keysOf(found, expected)) {
    const [a, b] = [own(found, key), own(expected, key)];
    if (Object.is(a, b)) continue;
    const below = Array.isArray(found) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const difference = firstJsonDifference(a, b, below);
    if (difference !== null) return difference;
  }
  return null;
}

/** Those of `found` in order, then those that only `expected` has. */
function keysOf(found: object, expected: object): string[] {
  const keys = Object.keys(found);
  const more = Object.keys(expected).filter((key) => !Object.hasOwn(found, key));
  return more.length === 0 ? keys : [...keys, ...more];
}

const own = (from: object, key: string): unknown =>
  Object.hasOwn(from, key) ? from[key as keyof typeof from] : undefined;

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

function show(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
