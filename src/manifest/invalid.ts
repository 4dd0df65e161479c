/** The one error of verification: which file, and why. */
import { QualifyError } from '../errors.js';
import { masked } from '../report/escape.js';

const DISTRUST =
  'Do not rely on this run: fetch its folder again from whoever published it, or measure again.';

/**
 * A file of a run folder that is not what was signed, or does not follow from what was signed. Exit 16.
 * The message is a sentence that begins with the file; `where` is the file alone.
 * `hint` is for what is asked of the run rather than wrong with it.
 */
export function invalid(file: string, why: string, cause?: unknown, hint = DISTRUST): QualifyError {
  return new QualifyError('ERR_QUALIFY_INVALID', masked(`${file} ${why}`, '\n'), {
    exit: 'invalid',
    where: file,
    hint,
    ...(cause === undefined ? {} : { cause }),
  });
}
