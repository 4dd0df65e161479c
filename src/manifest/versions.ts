/** What is said of a run that another version of qualify sealed. */
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';

/** Other rules or words than ours are no lie, but what they concluded cannot be drawn again here: still invalid. */
export function withVersions(error: unknown, stated: string): unknown {
  if (!(error instanceof QualifyError) || stated === harnessVersion) return error;
  const version = stated.replace(/[^0-9A-Za-z.+-]/g, '?').slice(0, 40);
  const message = `${error.message}; the run was sealed by qualify ${version} and this is qualify ${harnessVersion}, whose rules or words may differ`;
  return new QualifyError(error.code, message, {
    exit: error.exit,
    hint: `Verify it with qualify ${version}; if that fails too, the run does not hold.`,
    ...(error.where !== undefined && { where: error.where }),
    cause: error,
  });
}
