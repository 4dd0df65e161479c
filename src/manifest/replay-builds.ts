/** Replays the names of builds: each follows from what the journal says it was made of, and is of its arms' revision. One model for all. */
import type { Entry, EntryOf } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import { buildDigestOf } from '../revision/build-digest.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE } from './run-folder.js';

/** Throws a `QualifyError` (exit `invalid`) at the first build that is not what its own entry says, and at a second model. */
export function replayBuilds(plan: Plan, entries: readonly Entry[]): void {
  const seen = new Set<string>();
  for (const build of entries.filter((entry) => entry.kind === 'build')) {
    const wrong = (why: string): Error => invalid(JOURNAL_FILE, `line ${build.seq + 1} ${why}`);
    for (const name of build.arms) {
      if (seen.has(name)) throw wrong(`builds the arm ${name} once more`);
      seen.add(name);
      const planned = plan.arms.find((arm) => arm.name === name)?.revision;
      if (planned === build.revision.requested) continue;
      throw wrong(`builds ${build.revision.requested} for ${name}, planned is ${planned ?? 'no such arm'}`);
    }
    const expected = digestOf(build);
    if (expected !== build.buildDigest) {
      throw wrong(`has the build digest ${build.buildDigest}; what it was made of gives ${expected}`);
    }
  }
  const [, again] = entries.filter((entry) => entry.kind === 'model');
  if (again !== undefined) throw invalid(JOURNAL_FILE, `line ${again.seq + 1} names the model once more`);
}

/** A prebuilt folder is known by its binary alone, which then names its tree too. */
function digestOf({ revision, recipeDigest, toolchain, binarySha256 }: EntryOf<'build'>): string {
  if (!revision.requested.startsWith('prebuilt:'))
    return buildDigestOf(revision.tree, recipeDigest, toolchain);
  return revision.tree === binarySha256 && revision.commit === null ? binarySha256 : 'nothing';
}
