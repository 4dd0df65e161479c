/** Reads a decision that `qualify gate --json` wrote. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { parseStrictJson } from '../manifest/strict-json.js';
import { type GateDecision, gateDecisionSchema } from './decision.js';

/** Beyond any decision; a cell has some 1000 bytes. */
const MOST_BYTES = 64 * 2 ** 20;
const DEEPEST = 16;

/** @throws QualifyError ERR_QUALIFY_DECISION (exit 64) when it cannot be read or is no decision of this version */
export function readDecision(path: string): GateDecision {
  let why: string;
  try {
    const value = parseStrictJson(readFileSync(path), {
      file: path,
      maximumBytes: MOST_BYTES,
      maximumDepth: DEEPEST,
    });
    const parsed = gateDecisionSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    why = z.prettifyError(parsed.error);
  } catch (cause) {
    if (!(cause instanceof QualifyError) && !(cause instanceof Error && 'code' in cause)) throw cause;
    why = cause.message;
  }
  throw new QualifyError('ERR_QUALIFY_DECISION', `${path} is no decision of a gate: ${why}`, {
    exit: 'usage',
    where: path,
    hint: 'qualify gate --json > decision.json makes one, with the same version of qualify',
  });
}
