/** A matrix by name, put onto revisions, for `pr`, `compare` and `bisect`, with what it leaves out. */

import { QualifyError } from '../errors.js';
import type { RevisionArm } from '../matrix/lever-off.js';
import { breachesOf } from '../matrix/rules.js';
import type { Matrix } from '../matrix/schema.js';
import { withRevisions } from '../matrix/with-revisions.js';
import { wrap } from '../report/wrap.js';
import { loadRealMatrix } from './real-matrix.js';

/** What the help of both says of levers. */
export const LEVER_HELP = `
When a change brings new switches, name each with --lever at the value that
turns it off:
  --lever DFLASH_MOE_GROUPED_MMID_PREFILL=0
An arm "lever-off" then runs the change without them beside the others. It must
be as fast as the first arm, within the budget both ways; else a gain is not the
switches', and is not claimed.`;

export const DEFAULT_MATRIX = 'prefill-short-pr';

interface RevisionMatrix {
  matrix: Matrix;
  /** What to say of it when the session begins. */
  notices: string[];
}

export function revisionMatrix(name: string, revisions: readonly RevisionArm[]): RevisionMatrix {
  const loaded = loadRealMatrix(name);
  const { matrix, dropped } = withRevisions(loaded, revisions);
  const left = `The arms of ${name} differ in ${dropped.join(', ')}; here only the revision differs, so that is left out.`;
  const notices = dropped.length === 0 ? [] : [wrap(left, 80).join('\n')];
  // What a matrix file may not say, flags may not make of one: such a run would not verify.
  const [breach] = breachesOf(matrix);
  if (breach === undefined) return { matrix, notices };
  throw new QualifyError('ERR_QUALIFY_ARMS', `${breach.path.join('.')}: ${breach.message}`, {
    exit: 'usage',
    hint: `The cells, model and protocol are those of ${name}; see the revisions and the levers.`,
  });
}
