/**
 * Holds a run that answers a challenge against that challenge, as far as the run alone can tell: that it was issued, and that the matrix is
 * the one that it names, only who has them can say (`confirm-challenge.ts`).
 */
import type { Entry } from '../journal/entries.js';
import { challengeSeed } from '../plan/challenge.js';
import type { Plan } from '../plan/schema.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE, PLAN_FILE } from './run-folder.js';

/** Throws a `QualifyError` (exit `invalid`) where a run does not do what its challenge asks. A run without one passes. */
export function replayChallenge(plan: Plan, entries: readonly Entry[]): void {
  const { challenge } = plan;
  if (challenge === undefined) return;
  const seed = challengeSeed(challenge);
  if (plan.seed !== seed)
    throw invalid(PLAN_FILE, `has the seed ${plan.seed}, but its challenge gives ${seed}`);
  if (plan.matrix.name !== challenge.matrix.name) {
    throw invalid(
      PLAN_FILE,
      `is of the matrix ${plan.matrix.name}, but its challenge asks for ${challenge.matrix.name}`,
    );
  }
  checkWhole(plan);
  checkCommits(plan, entries);
  checkTime(plan, entries);
}

/** A challenge asks for the whole of its matrix, as it stands, of engines that run. */
function checkWhole({ leftOut, simulation, arms }: Plan): void {
  const wrong = (why: string) => invalid(PLAN_FILE, `answers a challenge, and ${why}`);
  if (leftOut !== undefined) throw wrong(`leaves out ${leftOut.join(', ')}`);
  if (simulation !== undefined) throw wrong('is simulated');
  if (arms.some(({ plantedSlowdownPercent }) => plantedSlowdownPercent !== undefined))
    throw wrong('plants a slowdown');
}

/** Of the arms, the reference and its null arm are the challenge's base, all others its head. */
export function commitAsked(plan: Plan, arm: string): string | undefined {
  const { challenge, arms } = plan;
  const [reference] = arms;
  const planned = arms.find(({ name }) => name === arm);
  const isBase = planned?.control === 'null' || planned === reference;
  return isBase ? challenge?.base : challenge?.head;
}

function checkCommits(plan: Plan, entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.kind !== 'build') continue;
    const { commit, dirty } = entry.revision;
    for (const arm of entry.arms) {
      const asked = commitAsked(plan, arm);
      if (commit === asked && !dirty) continue;
      const built = commit ?? 'no commit';
      throw invalid(
        JOURNAL_FILE,
        `line ${entry.seq + 1} builds ${built} for ${arm}, but the challenge asks for ${asked}`,
      );
    }
  }
}

/** The time of day is the signer's word; a word that contradicts the challenge does not hold. */
function checkTime({ challenge }: Plan, entries: readonly Entry[]): void {
  const session = entries.find((entry) => entry.kind === 'session');
  if (session === undefined || challenge === undefined) return;
  const { issuedAt, expiresAt } = challenge;
  const startedAt = Date.parse(session.startedAt);
  if (startedAt < Date.parse(issuedAt))
    throw invalid(
      JOURNAL_FILE,
      `begins at ${session.startedAt}, before its challenge was issued (${issuedAt})`,
    );
  if (startedAt > Date.parse(expiresAt))
    throw invalid(JOURNAL_FILE, `begins at ${session.startedAt}, after its challenge expired (${expiresAt})`);
}
