/** Reads a challenge from the file that its issuer wrote. */
import { QualifyError } from '../errors.js';
import { conform } from '../faults.js';
import { readBounded } from '../machine/read-bounded.js';
import { type Challenge, challengeSchema } from '../plan/challenge.js';
import { parseStrictJson } from './strict-json.js';

/** No challenge comes near it. */
const MOST_BYTES = 64 * 1024;

/** @throws QualifyError `ERR_QUALIFY_CHALLENGE` (exit 64) when it cannot be read or is no challenge; the message says why. */
export function readChallenge(path: string): Challenge {
  const bytes = readBounded(path, MOST_BYTES, (why, cause) => unusable(`${path} ${why}`, path, cause));
  const value = parseStrictJson(bytes, {
    file: path,
    maximumBytes: MOST_BYTES,
    maximumDepth: 4,
    refuse: (why, cause) => unusable(`${path} ${why}`, path, cause),
  });
  return conform(challengeSchema, value, (faults) => unusable(`${path} is no challenge:${faults}`, path));
}

const unusable = (message: string, path: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_CHALLENGE', message, {
    exit: 'usage',
    where: path,
    hint: 'Give the file that `qualify challenge` wrote, as it was written.',
    ...(cause !== undefined && { cause }),
  });
