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
