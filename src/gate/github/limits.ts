/**
 * What GitHub takes, from its documentation: a step summary of 1 MiB (a longer one is dropped whole), a comment of 65,536 characters, a
 * check run's summary of 65,535, 50 annotations in one request, and of a step's annotations the first 10 of each kind.
 */
export const LIMITS = {
  /** Of 1,048,576, since a step may write a line of its own. */
  summaryBytes: 1_000_000,
  commentBytes: 65_536,
  checkSummaryBytes: 65_535,
  checkAnnotations: 50,
  annotationsOfALevel: 10,
} as const;

/** Rows of the table that a comment opens with; the rest is folded away below. */
export const ROWS_AT_FIRST_SIGHT = 12;

/** Longest text of others that is shown in one place, in code points. */
const MOST_TEXT = 400;

/** The first `most` code points, so that no character is cut in two, with a mark where something is missing. */
export function brief(text: string, most: number = MOST_TEXT): string {
  // Slicing first keeps a text of megabytes from becoming an array of megabytes.
  const points = Array.from(text.slice(0, 2 * most + 2));
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`;
}
