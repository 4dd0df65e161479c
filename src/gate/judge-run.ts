/**
 * Whether a run counts for this change at all, whatever it is required for. Each reason that it does not is told, not the first only.
 * Pure.
 */

import { counted } from '../counted.js';
import { short } from '../digest.js';
import { CLOCK_TOLERANCE_MS } from '../manifest/trust-judgement.js';
import { matrixDigest } from '../matrix/digest.js';
import { challengeSeed } from '../plan/challenge.js';
import { followsFromMatrix } from '../plan/from-matrix.js';
import { mayGate } from '../verdict/evidence-kind.js';
import type { VerdictName } from '../verdict/schema.js';
import { type Reason, reason } from './decision.js';
import type { GateInput, VerifiedRun } from './input.js';
import { noteBase, noteParity, noteWarnings } from './notes.js';
import { armsOf, changesOf, commitOf, referenceOf } from './run-subject.js';
import { judgeSigner } from './trusted-key.js';

interface RunJudgement {
  /** Why it does not count; it counts when there is none. */
  against: Reason[];
  /** Why it counts with what failed in it and with nothing else; null when it counts whole, or not at all. */
  onlyAgainst: Reason[] | null;
  /** What to know of one that counts. */
  notes: Reason[];
  /** Names of its arms that are the change. */
  arms: string[];
}

/** What stays said of a head, whatever was measured later. */
export const STAYS: readonly VerdictName[] = ['fail', 'parity-failed'];

const DAY_MS = 86_400_000;

/** Judges one run by trust, kind, head, base, age and challenge. */
export function judgeRun(input: GateInput, run: VerifiedRun): RunJudgement {
  const head = judgeHead(input, run);
  const against = [
    ...judgeTrust(input, run),
    ...judgeKind(run),
    ...head.against,
    ...judgeBase(input, run),
    ...judgeAge(input, run),
    ...judgeChallenge(input, run),
  ];
  const isBad = against.length > 0 && isBadForHead(input, run, against);
  return {
    against: isBad ? [] : against,
    onlyAgainst: isBad ? against : null,
    notes: [...head.notes, ...noteBase(input, run), ...noteParity(run), ...noteWarnings(run, head.arms)],
    arms: head.arms,
  };
}

/** What makes a good run stale, and does not excuse a bad one. */
const STALE = ['too-old', 'base-moved', 'future-dated'];

/**
 * Whether a run of exactly this head failed, and nothing but its age, its clock or how far main went on speaks against it: were it left
 * out, a change that failed could wait, or have main move on, and be measured again until it passes.
 */
function isBadForHead(input: GateInput, run: VerifiedRun, against: readonly Reason[]): boolean {
  const { statement, verdict } = run;
  if (!against.every(({ code }) => STALE.includes(code))) return false;
  if (!verdict.cells.some((cell) => STAYS.includes(cell.verdict))) return false;
  if (armsOf(statement, (commit) => commit === input.head.commit).length === 0) return false;
  // A base that main never had says nothing of this merge.
  if (typeof input.commits.get(commitOf(referenceOf(statement)) ?? '')?.behindBase !== 'number') return false;
  // What comes after the clock in the judgement of trust is still to be asked, as of the time that the run states.
  const decidedAt = [input.decidedAt, endOf(run), statement.predicate.startedAt]
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
  return judgeTrust({ ...input, decidedAt: decidedAt ?? input.decidedAt }, run).length === 0;
}

/** When it was signed, as far as the signer says. */
export const endOf = ({ statement: { predicate } }: VerifiedRun): string =>
  predicate.finishedAt ?? predicate.startedAt;

function judgeTrust(input: GateInput, { statement, plan, manifestSha256 }: VerifiedRun): Reason[] {
  const { signer: keyId, machine, startedAt, finishedAt } = statement.predicate;
  const against = judgeSigner(input, {
    ...{ keyId, role: 'observer', machineId: machine.id, startedAt, finishedAt },
    ...{ issuedAt: plan.challenge?.issuedAt ?? null, manifestSha256 },
  });
  return against === null ? [] : [against];
}

/** What no protected cell may rest on, however it came out. */
function judgeKind({ kind, plan, verdict }: VerifiedRun): Reason[] {
  const found: Reason[] = [];
  if (!mayGate(kind))
    found.push(reason('not-matched', `it is ${kind} evidence: only what was measured side by side counts`));
  if (plan.simulation !== undefined)
    found.push(reason('simulated', 'nothing was measured: its rates are made up by a noise model'));
  if (plan.arms.some(({ plantedSlowdownPercent }) => plantedSlowdownPercent !== undefined))
    found.push(reason('planted', 'a slowdown was planted into an arm on purpose'));
  if (plan.design !== undefined)
    found.push(reason('design', 'it is an ablation of switches, which judges no budget'));
  if (verdict.protocol === 'small')
    found.push(reason('small-protocol', 'it plans too few rounds for any cell to pass'));
  if (plan.leftOut !== undefined)
    found.push(reason('left-out', `it was told to leave out ${plan.leftOut.join(', ')}`));
  return found;
}

function judgeHead(
  input: GateInput,
  { statement }: VerifiedRun,
): Pick<RunJudgement, 'against' | 'notes' | 'arms'> {
  const { head, base, commits } = input;
  const exact = armsOf(statement, (commit) => commit === head.commit).map(({ name }) => name);
  if (exact.length > 0) return { against: [], notes: [], arms: exact };
  const isSameBase = commitOf(referenceOf(statement)) === base.commit;
  const alike = armsOf(statement, (commit) => commits.get(commit)?.tree === head.tree);
  const [first] = alike;
  if (first !== undefined && isSameBase) {
    const message = `its head ${short(commitOf(first) ?? '')} has the tree of ${short(head.commit)}, and the same base`;
    return { against: [], notes: [reason('same-tree', message)], arms: alike.map(({ name }) => name) };
  }
  return { against: [whyNotHead(input, statement)], notes: [], arms: [] };
}

function whyNotHead({ head }: GateInput, statement: VerifiedRun['statement']): Reason {
  const changes = changesOf(statement);
  const commits = changes.map(commitOf).filter((commit) => commit !== null);
  const base = commitOf(referenceOf(statement));
  if (commits.length > 0 && commits.every((commit) => commit === base))
    return reason('one-revision', 'all its arms are of one commit, so that it compares no change');
  if (commits.length > 0) {
    const named = commits.map(short).join(', ');
    return reason('stale-head', `it is of ${named}, not of ${short(head.commit)}`);
  }
  const revision = changes.at(-1)?.build?.revision;
  return withoutCommit('head', revision);
}

function withoutCommit(side: string, revision: { requested: string; dirty: boolean } | undefined): Reason {
  if (revision === undefined) return reason('not-built', `its ${side} was never built`);
  if (revision.requested.startsWith('prebuilt:'))
    return reason('prebuilt', `its ${side} was built by somebody else, of sources that nobody names`);
  if (revision.dirty)
    return reason('dirty-tree', `its ${side} is a working tree with changes that no commit has`);
  return reason('no-commit', `its ${side} is of no commit`);
}

function judgeBase({ policy, base, commits }: GateInput, { statement }: VerifiedRun): Reason[] {
  const reference = referenceOf(statement);
  const commit = commitOf(reference);
  if (commit === null) return [withoutCommit('base', reference?.build?.revision)];
  const facts = commits.get(commit);
  const branch = `${base.branch} (${short(base.commit)})`;
  if (facts === undefined || facts.tree === null) {
    const message = `its base ${short(commit)} is not in this repository; a shallow clone lacks it`;
    return [reason('base-unknown', message)];
  }
  if (facts.behindBase === null)
    return [reason('base-moved', `its base ${short(commit)} is no commit of ${branch}`)];
  if (facts.behindBase <= policy.baseDrift) return [];
  const behind = counted(facts.behindBase, 'commit');
  const message = `its base ${short(commit)} is ${behind} behind ${branch}; the policy bears ${policy.baseDrift}`;
  return [reason('base-moved', message)];
}

function judgeAge({ policy, decidedAt }: GateInput, run: VerifiedRun): Reason[] {
  const times = [run.statement.predicate.startedAt, endOf(run)].map((time) => Date.parse(time));
  const days = (Date.parse(decidedAt) - Math.min(...times)) / DAY_MS;
  if (days <= policy.maxAgeDays) return [];
  return [reason('too-old', `it is ${days.toFixed(1)} days old; the policy bears ${policy.maxAgeDays}`)];
}

function judgeChallenge(input: GateInput, run: VerifiedRun): Reason[] {
  const { challenge } = run.plan;
  if (challenge === undefined)
    return input.policy.challenge === 'required'
      ? [reason('no-challenge', 'it answers no challenge, and the policy requires one')]
      : [];
  const other = (message: string): Reason[] => [reason('other-challenge', message)];
  const seed = challengeSeed(challenge);
  const wasIssued = input.challenges.some((issued) => challengeSeed(issued.challenge) === seed);
  if (!wasIssued && input.policy.challenge === 'required')
    return other('the challenge that it answers is none of those that were issued (--challenge)');
  if (run.plan.seed !== seed) return other('its seed does not follow from its challenge');
  if (challenge.head !== input.head.commit)
    return other(`it answers a challenge for ${short(challenge.head)}`);
  if (challenge.base !== commitOf(referenceOf(run.statement)))
    return other(`it answers a challenge for the base ${short(challenge.base)}, and has another`);
  if (challenge.matrix.name !== run.plan.matrix.name)
    return other(`it answers a challenge for the matrix ${challenge.matrix.name}`);
  const known = input.matrices.filter(({ name }) => name === challenge.matrix.name);
  const asked = known.find((matrix) => matrixDigest(matrix) === challenge.matrix.digest);
  if (known.length > 0 && !asked)
    return other(`it answers a challenge for another version of ${challenge.matrix.name}`);
  if (asked && !followsFromMatrix(run.plan, asked))
    return other(`its plan does not follow from the ${challenge.matrix.name} that its challenge asks for`);
  if (challenge.policy !== input.source.sha256 && input.policy.challenge === 'required')
    return other('it answers a challenge that was issued under another policy');
  const { startedAt } = run.statement.predicate;
  if (Date.parse(startedAt) + CLOCK_TOLERANCE_MS < Date.parse(challenge.issuedAt))
    return other('it says that it began before its challenge was issued');
  if (Date.parse(startedAt) > Date.parse(challenge.expiresAt))
    return other(`its challenge expired at ${challenge.expiresAt}, before it began`);
  return [];
}
