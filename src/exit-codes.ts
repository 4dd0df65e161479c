/**
 * The exit codes of `qualify`. Numbers from 10 on, so that a crash of node or of the shell (1, 2, 126-137) can never
 * read as a verdict. `verdict.json` remains the source of truth; make and some CI systems flatten exit codes.
 */
export const EXIT = {
  /** Every required cell passed, or the command did what it was asked. */
  pass: 0,
  /** At least one cell is slower than its budget allows. */
  overBudget: 10,
  /** Measured and proved, but the samples do not decide. */
  inconclusive: 11,
  /** Nothing was measured: no cell, no samples, an interrupted session. */
  notMeasured: 12,
  /** Outputs differ, or the set of outputs proves nothing. */
  parity: 13,
  /** Arms are not comparable, coldness is unproved, or something else was running. */
  unmatched: 14,
  /** Build, launch, time-out, lock, disk: the machinery failed, not the change. */
  infrastructure: 15,
  /** A signature, a digest or a replayed number is wrong. */
  invalid: 16,
  /** Wrong flags, or a file of the user's that does not parse. */
  usage: 64,
  /** What was asked cannot run on this CPU (`qualify kernels`): nothing is proved. Test runners read it as skipped. */
  unsupported: 77,
} as const;

export type ExitName = keyof typeof EXIT;
