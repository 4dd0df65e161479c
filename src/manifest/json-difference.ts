/** Where two JSON values part. */

/** Path of the first difference, as `cells[0].arms.head.median is 2, not 1`, or null when the values are equal. */
export function firstJsonDifference(found: unknown, expected: unknown, path = ''): string | null {
  if (Object.is(found, expected)) return null;
  if (!isContainer(found) || !isContainer(expected) || Array.isArray(found) !== Array.isArray(expected)) {
    return `${path || 'the value'} is ${show(found)}, not ${show(expected)}`;
  }
  const a = new Map(Object.entries(found));
  const b = new Map(Object.entries(expected));
  for (const key of new Set([...a.keys(), ...b.keys()])) {
    const below = Array.isArray(found) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const difference = firstJsonDifference(a.get(key), b.get(key), below);
    if (difference !== null) return difference;
  }
  return null;
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

function show(value: unknown): string {
  const text = value === undefined ? 'absent' : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
