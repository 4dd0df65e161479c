/** What to know of a run that counts, and what changes no verdict. Pure. */
import { isLeverUntested } from '../analysis/levers.js';
import { sameEngine } from '../analysis/matching.js';
import { short } from '../digest.js';
import { type Reason, reason } from './decision.js';
import type { GateInput, VerifiedRun } from './input.js';
import { commitOf, referenceOf } from './run-subject.js';

/** That head was branched off before the base that it was compared against. */
export function noteBase({ head, commits }: GateInput, { statement }: VerifiedRun): Reason[] {
  const commit = commitOf(referenceOf(statement));
  const facts = commit === null ? undefined : commits.get(commit);
  // Of a commit that is not here git cannot say where it lies.
  if (commit === null || facts === undefined || facts.tree === null || facts.isInHead) return [];
  const message = `head ${short(head.commit)} does not contain its base ${short(commit)}: what the base gained since counts against head`;
  return [reason('base-not-in-head', message)];
}

/** That outputs were not held to the bit: a pass then says no more of them than the limits of the matrix would have shown. */
export function noteParity({ plan: { protocol, matrix } }: VerifiedRun): Reason[] {
  if (protocol.parity === 'exact') return [];
  const message = `its outputs were held to parity ${protocol.parity} and not to the bit; qualify oracle ${matrix.name} says what that misses`;
  return [reason('parity-not-exact', message)];
}

/**
 * The warnings of a run that bear on what its pass is worth: nothing of an engine was compared, a gain was not shown to be the switches', no
 * null arm watched the session. Those of an arm are told of the arms of the change only: others decide nothing here.
 */
export function noteWarnings({ statement, verdict }: VerifiedRun, arms: readonly string[]): Reason[] {
  const against = referenceOf(statement)?.name ?? '';
  return verdict.warnings.filter((warning) => {
    if (warning.code === 'no-null-arm') return true;
    return arms.some((arm) => isLeverUntested(warning, arm) || isSame(warning, sameEngine(arm, against)));
  });
}

const isSame = (left: Reason, right: Reason): boolean =>
  left.code === right.code && left.message === right.message;
