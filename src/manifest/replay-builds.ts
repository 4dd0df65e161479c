/** Replays the names of builds: each follows from what the journal says it was made of, and is of its arms' revision. One model for all. */
import type { Entry, EntryOf } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import { buildDigestOf } from '../revision/build-digest.js';
import { invalid } from './invalid.js';
import { invalidLine } from './invalid-line.js';
import { JOURNAL_FILE } from './run-folder.js';

/** Throws a `QualifyError` (exit `invalid`) at the first build that is not what its own entry says, at a second model, and at what came after the first launch. */
export function replayBuilds(plan: Plan, entries: readonly Entry[]): void {
  const seen = new Set<string>();
  const builds = entries.filter((entry) => entry.kind === 'build');
  for (const build of builds) {
    const wrong = (why: string): Error => invalidLine(build, why);
    for (const name of build.arms) {
      if (seen.has(name)) throw wrong(`builds the arm ${name} once more`);
      seen.add(name);
      const planned = plan.arms.find((arm) => arm.name === name)?.revision;
      if (planned === build.revision.requested) continue;
      throw wrong(`builds ${build.revision.requested} for ${name}, planned is ${planned ?? 'no such arm'}`);
    }
    checkPlace(plan, build, wrong);
    checkTwin(builds, build, wrong);
    const expected = digestOf(build);
    if (expected !== build.buildDigest) {
      throw wrong(`has the build digest ${build.buildDigest}; what it was made of gives ${expected}`);
    }
  }
  const launched = entries.findIndex(({ kind }) => kind === 'launch');
  const late = entries.findLast(({ kind }) => kind === 'build' || kind === 'model');
  if (launched >= 0 && late !== undefined && late.seq > launched)
    throw invalid(JOURNAL_FILE, `line ${late.seq + 1} has a ${late.kind} after the first launch`);
  const [, again] = entries.filter((entry) => entry.kind === 'model');
  if (again !== undefined) throw invalid(JOURNAL_FILE, `line ${again.seq + 1} names the model once more`);
}

/** A build elsewhere is for null arms alone, and these run no other; but a package that is not built here is shared. */
function checkPlace(plan: Plan, build: EntryOf<'build'>, wrong: (why: string) => Error): void {
  for (const name of build.arms) {
    const arm = plan.arms.find((candidate) => candidate.name === name);
    const isNull = arm?.control === 'null' && arm.engine === 'embedded';
    if (isNull === (build.elsewhere === true)) continue;
    throw wrong(
      isNull ? `is no build elsewhere, as ${name} needs` : `builds ${name} elsewhere, which is no null arm`,
    );
  }
}

/** A revision is built once in the ordinary place, then at most once more elsewhere, from the same sources by the same means. */
function checkTwin(
  builds: readonly EntryOf<'build'>[],
  build: EntryOf<'build'>,
  wrong: (why: string) => Error,
): void {
  const { requested } = build.revision;
  const before = builds.filter((other) => other.seq < build.seq && other.revision.requested === requested);
  const same = before.find((other) => other.elsewhere === build.elsewhere);
  if (same !== undefined) throw wrong(`builds ${requested} once more, as line ${same.seq + 1} does`);
  if (build.elsewhere === undefined) return;
  const [ordinary] = before;
  if (ordinary === undefined) throw wrong(`builds ${requested} elsewhere before it is built at all`);
  if (ordinary.buildDigest !== build.buildDigest)
    throw wrong(`builds ${requested} of other sources or by other means than line ${ordinary.seq + 1}`);
}

/** A prebuilt folder is known by its binary alone, which then names its tree too. */
function digestOf({ revision, recipeDigest, toolchain, binarySha256 }: EntryOf<'build'>): string {
  if (!revision.requested.startsWith('prebuilt:'))
    return buildDigestOf(revision.tree, recipeDigest, toolchain);
  return revision.tree === binarySha256 && revision.commit === null ? binarySha256 : 'nothing';
}
