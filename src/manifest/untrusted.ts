/** The one error of trust: everything may hold, and the signer may not say so. */
import { QualifyError } from '../errors.js';
import { masked } from '../report/escape.js';
import { shellPath } from '../shell-word.js';
import type { TrustCode } from './trust-judgement.js';

/** Exit 16. `message` says what was found and what the policy says; `file` is the policy's. */
export const untrusted = (code: TrustCode, message: string, file: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_UNTRUSTED', `The signer is not trusted (${code}): ${masked(message)}`, {
    exit: 'invalid',
    where: file,
    hint: `docs/trust.md has each reason. The run itself can be looked at without --trust.${remedyOf(code, file)}`,
  });

/** Of what an entry lacks; against the other reasons nothing should be done but to measure again. */
function remedyOf(code: TrustCode, file: string): string {
  if (code === 'unknown-key')
    return ` If you trust the signer: qualify keys add KEY.pub --role observer --trust ${shellPath(file)}`;
  if (code === 'wrong-role' || code === 'wrong-machine')
    return ` If its key may sign this, with the --role or --machine that it lacks: qualify keys add KEY.pub --trust ${shellPath(file)}`;
  return '';
}
