/**
 * Replays the plan: its digest stands first in the journal, its prompts and its order of launches follow from its seed,
 * and the session kept to it. What was decided beforehand was not chosen after looking.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Entry } from '../journal/entries.js';
import { levelPerLook, planDigest } from '../plan/build.js';
import { buildOrder } from '../plan/order.js';
import { buildPrompts } from '../plan/prompts.js';
import type { Plan } from '../plan/schema.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE, PLAN_FILE } from './run-folder.js';

/** Throws a `QualifyError` (exit `invalid`) where plan and journal do not belong together. Returns the plan's digest. */
export function replayPlan(plan: Plan, entries: readonly Entry[]): string {
  const digest = planDigest(plan);
  const [first] = entries;
  if (first?.kind !== 'session' || first.planDigest !== digest) {
    const journal = first?.kind === 'session' ? first.planDigest : 'none';
    throw invalid(
      PLAN_FILE,
      `has the digest ${digest}, but the journal began with that of another plan: ${journal}`,
    );
  }
  if (first.session !== plan.session)
    throw invalid(JOURNAL_FILE, `is of session ${first.session}, not ${plan.session}`);
  replayPrompts(plan);
  replayOrder(plan);
  checkLaunches(plan, entries);
  return digest;
}

function replayPrompts(plan: Plan): void {
  const expected = buildPrompts(plan, plan.cells, plan.protocol);
  if (isDeepStrictEqual(expected, plan.prompts)) return;
  const at = plan.prompts.findIndex((prompt, index) => !isDeepStrictEqual(prompt, expected[index]));
  const which = plan.prompts[at]?.id ?? 'the last ones';
  throw invalid(PLAN_FILE, `has prompts that its seed does not make: ${which} differs`);
}

function replayOrder(plan: Plan): void {
  const { looks, levelPerLook: level } = plan.decision;
  const names = plan.arms.map((arm) => arm.name);
  if (!isDeepStrictEqual(buildOrder(names, looks.at(-1) ?? 1, plan.seed), plan.rounds)) {
    throw invalid(PLAN_FILE, 'has an order of launches that its seed does not make');
  }
  if (!isDeepStrictEqual(looks, plan.protocol.looks) || level !== levelPerLook(looks.length)) {
    throw invalid(PLAN_FILE, 'has looks or a level that its protocol does not make');
  }
}

/** Each launch is the one that the plan has at that place, and comes after the one before. */
function checkLaunches(plan: Plan, entries: readonly Entry[]): void {
  const planned = plan.rounds.flatMap(({ round, order }) =>
    order.map((arm, position) => ({ arm, round, position })),
  );
  const launches = entries.filter((entry) => entry.kind === 'launch');
  for (const [index, { arm, round, position, seq }] of launches.entries()) {
    if (!isDeepStrictEqual(planned[index], { arm, round, position })) {
      throw invalid(
        JOURNAL_FILE,
        `line ${seq + 1} launches ${arm} at place ${position} of round ${round}, which is not next in the plan`,
      );
    }
  }
}
