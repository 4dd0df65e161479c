/**
 * Replays the conditions of launches: told after the launch was ready and before anything was asked, and says of build,
 * model, engine and workload what plan and journal say. What was looked up on the machine nobody can look up again.
 */
import type { Entry, EntryOf } from '../journal/entries.js';
import { type Fields, knownConditions, workloadConditions } from '../journal/known-conditions.js';
import type { Plan } from '../plan/schema.js';
import { invalidLine } from './invalid-line.js';

/** Fields of a recipe whose text only the version that built has. */
const OF_RECIPE = ['build.type', 'build.flags', 'build.defines'];

/** Throws a `QualifyError` (exit `invalid`) at the first conditions that are in a wrong place or do not follow. */
export function replayConditions(plan: Plan, entries: readonly Entry[]): void {
  const workload = workloadConditions(plan);
  // What was asked in the launches before says nothing of conditions.
  const earlier: Entry[] = [];
  let kinds = new Set<Entry['kind']>();
  for (const entry of entries) {
    if (entry.kind === 'launch') kinds = new Set();
    if (entry.kind === 'conditions') checkConditions(plan, workload, earlier, kinds, entry);
    kinds.add(entry.kind);
    if (entry.kind !== 'control' && entry.kind !== 'sample') earlier.push(entry);
  }
}

/** `kinds` are those of the entries since the last launch. */
function checkConditions(
  plan: Plan,
  workload: Fields,
  earlier: readonly Entry[],
  kinds: ReadonlySet<Entry['kind']>,
  entry: EntryOf<'conditions'>,
): void {
  const wrong = (why: string): Error => invalidLine(entry, why);
  if (!kinds.has('ready')) throw wrong(`tells conditions of ${entry.launch} before it was ready`);
  if (kinds.has('control') || kinds.has('sample'))
    throw wrong(`tells conditions of ${entry.launch} after it was asked something`);
  const known = knownConditions(plan, earlier, entry.launch, workload);
  for (const [field, value] of Object.entries(known)) {
    if (value === null && OF_RECIPE.includes(field)) continue;
    const told = entry.fields[field] ?? null;
    if (told !== value)
      throw wrong(`tells ${field}=${told} of ${entry.launch}; plan and journal give ${value}`);
  }
}
