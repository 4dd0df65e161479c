/** The conditions of a launch as its entry tells them: what had to be looked up, and what plan and journal know. */
import type { RunningEngine } from '../engine/engine.js';
import { knownConditions } from '../journal/known-conditions.js';
import { gatherConditions } from '../machine/conditions.js';
import type { SessionContext } from './context.js';

/** Call it after the launch's `ready` entry and before anything is timed. */
export async function conditionsOf(
  { plan, journal }: SessionContext,
  launch: string,
  { pid, port, environment }: RunningEngine,
  buildFolder: string,
): Promise<Record<string, string | null>> {
  const variables = [...new Set(plan.arms.flatMap(({ switches }) => Object.keys(switches)))];
  const found = await gatherConditions({ pid, port, environment, variables, buildFolder });
  const fields = { ...found, ...knownConditions(plan, journal.entries, launch) };
  return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
