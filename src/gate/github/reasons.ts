/** Reasons where there is room for a few: the first of them in full, of the others every code. */
import type { Reason } from '../../verdict/schema.js';
import { brief } from '../brief.js';

/** The first `most` as `show` has them; then, where there are more, `and 2 more: too-old, base-moved` through `asText`. */
export function firstReasons(
  reasons: readonly Reason[],
  most: number,
  show: (reason: Reason) => string,
  asText: (text: string) => string = (text) => text,
): string[] {
  const others = reasons.slice(most);
  const codes = new Set(others.map(({ code }) => brief(code, 60)));
  const more = `and ${others.length} more: ${[...codes].join(', ')}`;
  return [...reasons.slice(0, most).map(show), ...(others.length === 0 ? [] : [asText(more)])];
}
