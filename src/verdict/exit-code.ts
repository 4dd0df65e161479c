/** The exit code of a result. Their order of precedence is the order of `verdictNames`. */
import { EXIT } from '../exit-codes.js';
import type { VerdictName } from './schema.js';

const codes: Record<VerdictName, number> = {
  pass: EXIT.pass,
  inconclusive: EXIT.inconclusive,
  fail: EXIT.overBudget,
  infrastructure: EXIT.infrastructure,
  'not-measured': EXIT.notMeasured,
  unsupported: EXIT.notMeasured,
  contaminated: EXIT.unmatched,
  unmatched: EXIT.unmatched,
  'cold-unproved': EXIT.unmatched,
  'parity-failed': EXIT.parity,
};

/** 13 over 14 over 12 over 15 over 10 over 11 over 0. */
export const exitCodeOf = (result: VerdictName): number => codes[result];
