/** Whether a waiver may be used now, for this change. Which cell it saves, if any, is decided with the cells. Pure. */
import { counted } from '../counted.js';
import { short } from '../digest.js';
import { type Reason, reason } from './decision.js';
import type { GateInput } from './input.js';
import { judgeSigner } from './trusted-key.js';
import type { WaiverStatement } from './waiver.js';

const DAY_MS = 86_400_000;

/** What a waiver is judged by. */
type Judging = Pick<GateInput, 'policy' | 'head' | 'decidedAt' | 'merged' | 'trust' | 'attestations'>;

/** Why it may not be used; empty when it may. */
export function judgeWaiver(input: Judging, { subject, predicate }: WaiverStatement): Reason[] {
  const { policy, head, decidedAt } = input;
  const [{ digest: commit }, { digest: tree }] = subject;
  const found: Reason[] = [];
  const isMerge = input.merged.get(commit.gitCommit) === head.tree;
  if (commit.gitCommit !== head.commit && tree.gitTree !== head.tree && !isMerge) {
    const named = short(commit.gitCommit);
    found.push(reason('other-head', `it is for ${named}, not for ${short(head.commit)}`));
  }
  const days = (Date.parse(predicate.expiresAt) - Date.parse(predicate.issuedAt)) / DAY_MS;
  if (!(days > 0 && days <= policy.maxWaiverDays)) {
    const most = counted(policy.maxWaiverDays, 'day');
    const message = `it is from ${predicate.issuedAt} until ${predicate.expiresAt}; by the policy a waiver is for at most ${most}`;
    found.push(reason('waiver-term', message));
  }
  if (Date.parse(decidedAt) >= Date.parse(predicate.expiresAt))
    found.push(reason('waiver-expired', `it expired at ${predicate.expiresAt}`));
  const { signer: keyId, issuedAt } = predicate;
  const signer = judgeSigner(input, {
    ...{ keyId, role: 'maintainer', machineId: null, startedAt: issuedAt, finishedAt: issuedAt },
    // A waiver answers no challenge, and is no run.
    ...{ issuedAt: null, manifestSha256: null },
  });
  return signer === null ? found : [...found, signer];
}
