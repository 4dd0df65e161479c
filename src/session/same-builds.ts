/** The builds and the model of a session that is resumed: made or found again, and refused when they are not the very same. */
import { short } from '../digest.js';
import { QualifyError } from '../errors.js';
import type { Entry, EntryOf } from '../journal/entries.js';
import { sourceTreeDigest } from '../revision/source-tree.js';
import { type ArmBuild, type ArmSource, type BuildContext, type Built, makeBuild } from './arm-builds.js';
import { findModel } from './model.js';

/** The commits that names of revisions stood for when the journal wrote them down. */
export function commitsOf(entries: readonly Entry[]): Map<string, string> {
  const builds = entries.filter((entry) => entry.kind === 'build');
  return new Map(
    builds.flatMap(({ revision: { requested, commit } }) =>
      commit === null || requested === 'worktree' ? [] : [[requested, commit] as const],
    ),
  );
}

/**
 * The builds that the journal has, by arm: from the cache, or made again there.
 * @throws QualifyError `ERR_QUALIFY_BUILD_DIFFERS` (exit 14) when sources, compiler, recipe or binary are others.
 */
export async function sameBuilds(
  context: BuildContext,
  entries: readonly Entry[],
  revisions: ReadonlyMap<string, ArmSource>,
): Promise<Map<string, ArmBuild>> {
  const builds = new Map<string, ArmBuild>();
  for (const recorded of entries.filter((entry) => entry.kind === 'build')) {
    const { requested } = recorded.revision;
    const source = revisions.get(requested);
    if (source === undefined)
      throw new Error(`The journal has a build of "${requested}", the plan does not.`);
    // Before minutes are spent on building what is refused anyway.
    if (source.kind === 'tree' && (await sourceTreeDigest(source.folder)) !== recorded.revision.tree)
      throw differs(recorded, 'its sources have changed since', 'Put them back as they were');
    context.progress.update(`build ${requested} for ${recorded.arms.join(', ')}`, null);
    const built = await makeBuild(context, source, recorded.elsewhere ? 'elsewhere' : 'here');
    requireSame(recorded, built);
    const { folder, buildDigest, sealed } = built;
    for (const arm of recorded.arms) builds.set(arm, { folder, buildDigest, sealed });
  }
  return builds;
}

function requireSame(recorded: EntryOf<'build'>, built: Built): void {
  if (recorded.revision.tree !== built.revision.tree)
    throw differs(recorded, 'its sources have changed since', 'Put them back as they were');
  if (recorded.buildDigest !== built.buildDigest)
    throw differs(recorded, 'compiler or recipe have changed since', 'Put the tools back as they were');
  if (recorded.binarySha256 !== built.binarySha256 || recorded.folderSha256 !== built.folderSha256)
    throw differs(recorded, 'its binary is another than the one measured', 'Put the very build back');
}

const differs = (recorded: EntryOf<'build'>, why: string, remedy: string): QualifyError =>
  new QualifyError(
    'ERR_QUALIFY_BUILD_DIFFERS',
    `The run cannot go on with ${recorded.revision.requested}: ${why}.`,
    {
      exit: 'unmatched',
      hint: `${remedy} (tree ${short(recorded.revision.tree)}, binary ${short(recorded.binarySha256)}), or measure anew.`,
    },
  );

/**
 * Where the model is that the journal has; undefined when it has none yet.
 * @throws QualifyError `ERR_QUALIFY_MODEL_DIFFERS` (exit 14)
 */
export async function sameModel(
  context: BuildContext,
  entries: readonly Entry[],
): Promise<string | undefined> {
  const recorded = entries.find((entry) => entry.kind === 'model');
  if (recorded === undefined) return undefined;
  const found = await findModel(context);
  if (found.sha256 === recorded.sha256) return found.path;
  throw new QualifyError(
    'ERR_QUALIFY_MODEL_DIFFERS',
    'The run cannot go on: its model is another file now.',
    {
      exit: 'unmatched',
      where: found.path,
      hint: `Put the file with the SHA-256 ${short(recorded.sha256)}… back, or measure anew.`,
    },
  );
}
