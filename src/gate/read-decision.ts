/** Reads a decision that `qualify gate --json` wrote. */
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { readBounded } from '../machine/read-bounded.js';
import { parseStrictJson } from '../manifest/strict-json.js';
import { type GateDecision, gateDecisionSchema } from './decision.js';

/** Beyond any decision; a cell has some 1000 bytes. */
const MOST_BYTES = 64 * 2 ** 20;
const DEEPEST = 16;

/** @throws QualifyError ERR_QUALIFY_DECISION (exit 64) when it cannot be read or is no decision of this version */
export function readDecision(path: string): GateDecision {
  const refused = (why: string, cause?: unknown): QualifyError =>
    new QualifyError('ERR_QUALIFY_DECISION', `${path} is no decision of a gate:${why}`, {
      exit: 'usage',
      where: path,
      hint: 'qualify gate --json > decision.json makes one, with the same version of qualify',
      cause,
    });
  const bytes = readBounded(path, MOST_BYTES, (why, cause) => refused(` it ${why}`, cause));
  const limits = { file: path, maximumBytes: MOST_BYTES, maximumDepth: DEEPEST };
  const value = parseStrictJson(bytes, {
    ...limits,
    refuse: (why, cause) => refused(` it ${why}`, cause),
  });
  return conform(gateDecisionSchema, value, refused);
}
