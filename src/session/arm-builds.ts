/** Builds what the arms of a plan need, each distinct revision once, and writes down what was built from what. */
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { sha256, short } from '../digest.js';
import { programOf } from '../engine/adapters/embedded.js';
import { readPeer, requirePeer } from '../engine/adapters/peer-package.js';
import { readSimulatedHost } from '../engine/adapters/simulated.js';
import { sha256File } from '../engine/file-digest.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import type { EntryOf, Revision } from '../journal/entries.js';
import { PEER_REVISION, SIMULATED_REVISION } from '../matrix/engines.js';
import type { Plan } from '../plan/schema.js';
import { type BuildOptions, buildEngine } from '../revision/build-cache.js';
import { buildDigestOf } from '../revision/build-digest.js';
import { describeBuild } from '../revision/build-process.js';
import { type Resolved, resolveRevision, revisionOfTree } from '../revision/resolve.js';
import { sourceTreeDigest } from '../revision/source-tree.js';
import { addWorktree } from '../revision/worktree.js';
import { folderDigest, type Sealed } from './binaries.js';
import type { SessionContext } from './context.js';
import { copyElsewhere } from './prebuilt-copy.js';

/** A build as launches use it. */
export interface ArmBuild {
  folder: string;
  buildDigest: string;
  /** What must not change while the session runs. */
  sealed: Sealed;
}

/** What making a build needs of a session. */
export type BuildContext = Pick<SessionContext, 'plan' | 'progress' | 'signal'>;

/** A build and what the journal says of it. */
export type Built = Omit<EntryOf<'build'>, 'seq' | 'atNs' | 'kind' | 'arms' | 'log'> & {
  folder: string;
  logPath: string | null;
  sealed: Sealed;
};

/** What an arm's build is made of: a revision of the engine, or the package of another engine. */
export type ArmSource = Resolved | { kind: 'peer' | 'simulated'; requested: string };

/**
 * The distinct revisions of a plan, resolved; throws before anything has been done when one does not exist. A package is itself. `commits`
 * holds what names stood for when the session began: a branch may have moved since.
 */
export async function resolveArms(
  plan: Pick<Plan, 'arms'>,
  repository: string,
  commits: ReadonlyMap<string, string> = new Map(),
): Promise<Map<string, ArmSource>> {
  const names = [...new Set(plan.arms.map((arm) => arm.revision))];
  const pairs = names.map(async (name): Promise<readonly [string, ArmSource]> => {
    if (name === PEER_REVISION) {
      requirePeer();
      return [name, { kind: 'peer', requested: name }];
    }
    if (plan.arms.some((arm) => arm.revision === name && arm.engine === 'simulated'))
      return [name, { kind: 'simulated', requested: SIMULATED_REVISION }];
    const resolved = {
      ...(await resolveRevision(commits.get(name) ?? name, repository)),
      requested: name,
    };
    if (resolved.kind === 'prebuilt') requirePrebuilt(resolved.folder);
    return [name, resolved];
  });
  return new Map(await Promise.all(pairs));
}

function requirePrebuilt(folder: string): void {
  if (existsSync(programOf(folder).binary)) return;
  throw new QualifyError('ERR_QUALIFY_PREBUILT', `${folder} holds neither engine.node nor serve.`, {
    exit: 'usage',
    hint: 'Name the folder that a build left its engine.node in.',
  });
}

/** Where a build is made: in the ordinary place, or once more in another, for the null arm. */
export type Place = 'here' | 'elsewhere';

/** What progress calls a build. */
const placed = (name: string, place: Place): string =>
  place === 'elsewhere' ? `${name} once more, elsewhere, for the null arm` : name;

/** The arms of a revision by the place of their build. A null arm runs a build of its own, but a package is what it is. */
function armsByPlace({ arms }: Pick<Plan, 'arms'>, revision: string): Map<Place, string[]> {
  const own = arms.filter((arm) => arm.revision === revision);
  const isElsewhere = (arm: Plan['arms'][number]): boolean =>
    arm.control === 'null' && arm.engine === 'embedded';
  const namesOf = (list: typeof own): string[] => list.map((arm) => arm.name);
  const places = new Map<Place, string[]>([['here', namesOf(own.filter((arm) => !isElsewhere(arm)))]]);
  const elsewhere = namesOf(own.filter(isElsewhere));
  return elsewhere.length === 0 ? places : places.set('elsewhere', elsewhere);
}

/**
 * Builds in the order of the arms; one `build` entry a revision, and one for its build elsewhere. Answers the build of each arm by its
 * name. Arms of `known` have theirs, and the journal has it.
 */
export async function buildArms(
  context: BuildContext & Pick<SessionContext, 'journal' | 'evidence'>,
  revisions: ReadonlyMap<string, ArmSource>,
  known: ReadonlyMap<string, ArmBuild> = new Map(),
): Promise<Map<string, ArmBuild>> {
  const builds = new Map(known);
  for (const [index, [name, resolved]] of [...revisions].entries()) {
    let digest: string | undefined;
    for (const [place, arms] of armsByPlace(context.plan, name)) {
      const [known] = arms.flatMap((arm) => builds.get(arm) ?? []);
      digest ??= known?.buildDigest;
      if (arms.every((arm) => builds.has(arm))) continue;
      const what = place === 'elsewhere' ? placed(name, place) : `${name} for ${arms.join(', ')}`;
      context.progress.update(`build ${what}`, null);
      const { folder, logPath, sealed, ...built } = await makeBuild(context, resolved, place);
      digest ??= built.buildDigest;
      if (built.buildDigest !== digest) throw treeChanged(name);
      const logName = `builds/${index}${place === 'elsewhere' ? '-elsewhere' : ''}.log`;
      // A session that was killed may have left the log of a build that it did not come to write down.
      rmSync(context.evidence.pathOf(logName), { force: true });
      if (logPath === null) context.evidence.write(logName, 'Nothing was compiled.\n');
      else copyFileSync(logPath, context.evidence.pathOf(logName));
      const log = await context.evidence.adopt(logName);
      const elsewhere = place === 'elsewhere' && { elsewhere: true as const };
      context.journal.append({ kind: 'build', arms, ...built, ...elsewhere, log });
      for (const arm of arms) builds.set(arm, { folder, buildDigest: built.buildDigest, sealed });
    }
  }
  return builds;
}

const treeChanged = (where: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_TREE_CHANGED', 'The working tree changed while it was built.', {
    exit: 'infrastructure',
    where,
    hint: 'Run again when the files have come to rest, or commit them and name the commit.',
  });

/** Makes one build, or takes it from where it is. */
export function makeBuild(context: BuildContext, resolved: ArmSource, place: Place): Promise<Built> {
  switch (resolved.kind) {
    case 'peer':
      return takePeer(resolved.requested);
    case 'simulated':
      return takeSimulated(resolved.requested);
    case 'prebuilt':
      return takePrebuilt(resolved.requested, resolved.folder, place);
    case 'tree':
      return buildTree(context, resolved.requested, resolved.folder, place);
    case 'commit':
      return buildCommit(context, resolved, place);
  }
}

async function buildFrom(
  context: BuildContext,
  folder: string,
  revision: Revision,
  place: Place,
): Promise<Built> {
  const what = placed(revision.requested, place);
  const options: BuildOptions = {
    sourceFolder: folder,
    elsewhere: place === 'elsewhere',
    treeDigest: revision.tree,
    signal: context.signal,
    onProgress: (step) => {
      const share = step.done === null ? null : step.done / (step.total ?? 1);
      // A wait has no share, so that only a note of it reaches a log.
      if (step.phase === 'waiting') context.progress.note(describeBuild(what, step));
      else context.progress.update(describeBuild(what, step), share);
    },
  };
  const { buildDigest, recipeDigest, toolchain, binarySha256, cached, logPath, ...made } =
    await buildEngine(options);
  if (!cached) context.progress.note(`built ${what}; it is cached in ${made.folder}`);
  return {
    revision,
    buildDigest,
    recipeDigest,
    toolchain,
    binarySha256,
    cached,
    folder: made.folder,
    logPath,
    sealed: { path: made.binary, digest: binarySha256 },
  };
}

async function buildTree(
  context: BuildContext,
  requested: string,
  folder: string,
  place: Place,
): Promise<Built> {
  const revision = await revisionOfTree(requested, folder);
  const built = await buildFrom(context, folder, revision, place);
  if ((await sourceTreeDigest(folder)) !== revision.tree) throw treeChanged(folder);
  return built;
}

async function buildCommit(
  context: BuildContext,
  { requested, repository, commit }: Extract<Resolved, { kind: 'commit' }>,
  place: Place,
): Promise<Built> {
  // The process is in the name: what is left of a session that was killed may be on its way out when it is resumed.
  const name = `${context.plan.session}-${short(commit)}-${process.pid}`;
  const worktree = await addWorktree(repository, commit, name);
  try {
    const tree = await sourceTreeDigest(worktree.folder);
    const revision = { requested, commit, tree, dirty: false };
    return await buildFrom(context, worktree.folder, revision, place);
  } finally {
    await worktree.remove();
  }
}

/** A folder somebody else built: known by its binary alone, so the digest of the binary names tree and build. */
async function takePrebuilt(requested: string, original: string, place: Place): Promise<Built> {
  const folder = place === 'elsewhere' ? await copyElsewhere(original) : original;
  const { binary } = programOf(folder);
  const binarySha256 = await sha256File(binary);
  const folderSha256 = await folderDigest(folder);
  return {
    revision: { requested, commit: null, tree: binarySha256, dirty: false },
    buildDigest: binarySha256,
    recipeDigest: sha256('prebuilt'),
    toolchain: {},
    binarySha256,
    folderSha256,
    cached: true,
    folder,
    logPath: null,
    sealed: { path: folder, digest: folderSha256 },
  };
}

/** A part of this harness: its own files stand for tree and binary. */
async function takeSimulated(requested: string): Promise<Built> {
  const { folder, host, sha256: digest } = await readSimulatedHost();
  const recipeDigest = sha256('simulated');
  const toolchain = { node: process.version, qualify: harnessVersion };
  return {
    revision: { requested, commit: null, tree: digest, dirty: false },
    buildDigest: buildDigestOf(digest, recipeDigest, toolchain),
    recipeDigest,
    toolchain,
    binarySha256: digest,
    cached: true,
    folder,
    logPath: null,
    sealed: { path: host, digest: await sha256File(host) },
  };
}

/** A package that is pinned by its lock file, which stands for its tree; its binary is all that is native in it. */
async function takePeer(requested: string): Promise<Built> {
  const { folder, binariesFolder, lockSha256, binarySha256, recipeDigest, versions } = await readPeer();
  const folderSha256 = await folderDigest(binariesFolder);
  return {
    revision: { requested, commit: null, tree: lockSha256, dirty: false },
    buildDigest: buildDigestOf(lockSha256, recipeDigest, versions),
    recipeDigest,
    toolchain: versions,
    binarySha256,
    folderSha256,
    cached: true,
    folder,
    logPath: null,
    sealed: { path: binariesFolder, digest: folderSha256 },
  };
}
