/** Texts of others, cut to what a reader can be asked to read. */

/** Longest text of others that is shown in one place, in code points. */
const MOST_TEXT = 400;

/** The first `most` code points, so that no character is cut in two, with a mark where something is missing. */
export function brief(text: string, most: number = MOST_TEXT): string {
  // Slicing first keeps a text of megabytes from becoming an array of megabytes.
  const points = Array.from(text.slice(0, 2 * most + 2));
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`;
}
