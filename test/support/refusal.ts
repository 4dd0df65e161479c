/** What a call is refused with. */
import assert from 'node:assert/strict';
import { QualifyError } from '../../src/errors.js';

/** The QualifyError that `work` rejects with; anything else fails the test. */
export async function refusal(work: Promise<unknown>): Promise<QualifyError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof QualifyError, String(error));
  return error;
}
