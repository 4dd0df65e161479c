/**
 * Replays the plan: its digest stands first in the journal, all that is derived in it (prompts, order, looks,
 * level, margins) follows from its seed and protocol, and the session kept to it. What was decided beforehand was not chosen after looking.
 */
import { isDeepStrictEqual } from 'node:util';
import { conform } from '../faults.js';
import type { Entry } from '../journal/entries.js';
import { breachesOf } from '../matrix/rules.js';
import { type Matrix, matrixSchema } from '../matrix/schema.js';
import { buildPlan, planDigest, voidShareOf } from '../plan/build.js';
import { promptShapes } from '../plan/prompts.js';
import type { Plan } from '../plan/schema.js';
import { invalid } from './invalid.js';
import { firstJsonDifference } from './json-difference.js';
import { replayBuilds } from './replay-builds.js';
import { replayChallenge } from './replay-challenge.js';
import { replayConditions } from './replay-conditions.js';
import { replayLaunches } from './replay-launches.js';
import { replaySamples } from './replay-samples.js';
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
  replayChallenge(plan, entries);
  rebuild(plan);
  replayBuilds(plan, entries);
  replayLaunches(plan, entries);
  replayConditions(plan, entries);
  replaySamples(plan, entries);
  return digest;
}

/** What the plan says of itself, as the matrix that it was made from; ids of cells are given, as they are in the plan. */
function matrixOf(plan: Plan): Matrix {
  const { schemaVersion, matrix, model, engine, protocol, budgets, simulation } = plan;
  const cells = plan.cells.map(({ marginPercent: _derived, ...cell }) => cell);
  // The null arm is no part of a matrix; `buildPlan` makes it again.
  const own = plan.arms.filter(({ control }) => control !== 'null');
  const arms = Object.fromEntries(own.map(({ name, ...arm }) => [name, arm]));
  const { name, title } = matrix;
  const said = {
    ...{ schemaVersion, name, title, model, engine, cells, arms, protocol, budgets, simulation },
    ...(plan.design !== undefined && { design: plan.design }),
  };
  const read = conform(matrixSchema, said, (faults) => invalid(PLAN_FILE, `is of no matrix:${faults}`));
  const [breach] = breachesOf(read);
  if (breach !== undefined) throw invalid(PLAN_FILE, `is of no matrix: ${breach.message}`);
  return read;
}

/** Cheap, and so before any prompt is drawn: a short plan may ask for more tokens than anybody has time for. */
function checkPromptList({ cells, protocol, prompts }: Plan): void {
  const shapes = promptShapes(cells, protocol);
  const at = shapes.findIndex((shape, index) => {
    const { sha256: _drawnLater, ...listed } = prompts[index] ?? { sha256: '' };
    return !isDeepStrictEqual(listed, shape);
  });
  if (at < 0 && shapes.length === prompts.length) return;
  const which = prompts[at]?.id ?? 'the last ones';
  throw invalid(PLAN_FILE, `has prompts that its seed does not make: ${which} differs`);
}

/** Makes the plan again. The digest of the matrix is not among what follows: a plan does not hold all that it is over. */
function rebuild(plan: Plan): void {
  const { session, seed, leftOut, challenge } = plan;
  const matrix = matrixOf(plan);
  checkPromptList(plan);
  const made = buildPlan(matrix, {
    session,
    seed,
    voidShare: voidShareOf(plan),
    ...(leftOut && { leftOut }),
    ...(challenge && { challenge }),
  });
  const at = made.prompts.findIndex((prompt, index) => !isDeepStrictEqual(prompt, plan.prompts[index]));
  if (at >= 0 || made.prompts.length !== plan.prompts.length) {
    const which = plan.prompts[at]?.id ?? 'the last ones';
    throw invalid(PLAN_FILE, `has prompts that its seed does not make: ${which} differs`);
  }
  if (!isDeepStrictEqual(made.rounds, plan.rounds))
    throw invalid(PLAN_FILE, 'has an order of launches that its seed does not make');
  const expected = { ...made, matrix: { ...made.matrix, digest: plan.matrix.digest } };
  const difference = firstJsonDifference(plan, expected);
  if (difference !== null)
    throw invalid(PLAN_FILE, `does not follow from its own protocol and budgets: ${difference}`);
}
