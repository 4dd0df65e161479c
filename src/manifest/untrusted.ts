/** The one error of trust: everything may hold, and the signer may not say so. */
import { QualifyError } from '../errors.js';
import { masked } from '../report/escape.js';
import type { TrustCode } from './trust-judgement.js';

/** Exit 16. `message` says what was found and what the policy says. */
export const untrusted = (code: TrustCode, message: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_UNTRUSTED', `The signer is not trusted (${code}): ${masked(message)}`, {
    exit: 'invalid',
    hint: 'docs/trust.md has each reason. The run itself can be looked at without --trust.',
  });
