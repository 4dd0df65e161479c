/** Builds what the arms of a plan need, each distinct revision once, and writes down what was built from what. */
import { copyFileSync, existsSync } from 'node:fs';
import { sha256 } from '../digest.js';
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

/** A build as launches use it. */
export interface ArmBuild {
  folder: string;
  buildDigest: string;
  /** What must not change while the session runs. */
  sealed: Sealed;
}

type Built = Omit<EntryOf<'build'>, 'seq' | 'atNs' | 'kind' | 'arms' | 'log'> & {
  folder: string;
  logPath: string | null;
  sealed: Sealed;
};

/** What an arm's build is made of: a revision of the engine, or the package of another engine. */
export type ArmSource = Resolved | { kind: 'peer' | 'simulated'; requested: string };

/** The distinct revisions of a plan, resolved; throws before anything has been done when one does not exist. A package is itself. */
export async function resolveArms(
  plan: Pick<Plan, 'arms'>,
  repository: string,
): Promise<Map<string, ArmSource>> {
  const names = [...new Set(plan.arms.map((arm) => arm.revision))];
  const pairs = names.map(async (name): Promise<readonly [string, ArmSource]> => {
    if (name === PEER_REVISION) {
      requirePeer();
      return [name, { kind: 'peer', requested: name }];
    }
    if (plan.arms.some((arm) => arm.revision === name && arm.engine === 'simulated'))
      return [name, { kind: 'simulated', requested: SIMULATED_REVISION }];
    const resolved = await resolveRevision(name, repository);
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

/** Builds in the order of the arms; one `build` entry a revision. Answers the build of each arm by its name. */
export async function buildArms(
  context: SessionContext,
  revisions: Map<string, ArmSource>,
): Promise<Map<string, ArmBuild>> {
  const builds = new Map<string, ArmBuild>();
  for (const [index, [name, resolved]] of [...revisions].entries()) {
    const arms = context.plan.arms.filter((arm) => arm.revision === name).map((arm) => arm.name);
    context.progress.update(`build ${name} for ${arms.join(', ')}`, null);
    const { folder, logPath, sealed, ...built } = await build(context, resolved);
    const logName = `builds/${index}.log`;
    if (logPath === null) context.evidence.write(logName, 'Nothing was compiled.\n');
    else copyFileSync(logPath, context.evidence.pathOf(logName));
    const log = await context.evidence.adopt(logName);
    context.journal.append({ kind: 'build', arms, ...built, log });
    for (const arm of arms) builds.set(arm, { folder, buildDigest: built.buildDigest, sealed });
  }
  return builds;
}

function build(context: SessionContext, resolved: ArmSource): Promise<Built> {
  switch (resolved.kind) {
    case 'peer':
      return takePeer(resolved.requested);
    case 'simulated':
      return takeSimulated(resolved.requested);
    case 'prebuilt':
      return takePrebuilt(resolved.requested, resolved.folder);
    case 'tree':
      return buildTree(context, resolved.requested, resolved.folder);
    case 'commit':
      return buildCommit(context, resolved);
  }
}

async function buildFrom(context: SessionContext, folder: string, revision: Revision): Promise<Built> {
  const options: BuildOptions = {
    sourceFolder: folder,
    treeDigest: revision.tree,
    signal: context.signal,
    onProgress: (step) => {
      const share = step.done === null ? null : step.done / (step.total ?? 1);
      // A wait has no share, so that only a note of it reaches a log.
      if (step.phase === 'waiting') context.progress.note(describeBuild(revision.requested, step));
      else context.progress.update(describeBuild(revision.requested, step), share);
    },
  };
  const { buildDigest, recipeDigest, toolchain, binarySha256, cached, logPath, ...made } =
    await buildEngine(options);
  if (!cached) context.progress.note(`built ${revision.requested}; it is cached in ${made.folder}`);
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

async function buildTree(context: SessionContext, requested: string, folder: string): Promise<Built> {
  const revision = await revisionOfTree(requested, folder);
  const built = await buildFrom(context, folder, revision);
  if ((await sourceTreeDigest(folder)) !== revision.tree) {
    throw new QualifyError('ERR_QUALIFY_TREE_CHANGED', 'The working tree changed while it was built.', {
      exit: 'infrastructure',
      where: folder,
      hint: 'Run again when the files have come to rest, or commit them and name the commit.',
    });
  }
  return built;
}

async function buildCommit(
  context: SessionContext,
  { requested, repository, commit }: Extract<Resolved, { kind: 'commit' }>,
): Promise<Built> {
  const worktree = await addWorktree(repository, commit, `${context.plan.session}-${commit.slice(0, 12)}`);
  try {
    const tree = await sourceTreeDigest(worktree.folder);
    return await buildFrom(context, worktree.folder, { requested, commit, tree, dirty: false });
  } finally {
    await worktree.remove();
  }
}

/** A folder somebody else built: known by its binary alone, so the digest of the binary names tree and build. */
async function takePrebuilt(requested: string, folder: string): Promise<Built> {
  const { binary } = programOf(folder);
  const binarySha256 = await sha256File(binary);
  return {
    revision: { requested, commit: null, tree: binarySha256, dirty: false },
    buildDigest: binarySha256,
    recipeDigest: sha256('prebuilt'),
    toolchain: {},
    binarySha256,
    cached: true,
    folder,
    logPath: null,
    sealed: { path: folder, digest: await folderDigest(folder) },
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
  return {
    revision: { requested, commit: null, tree: lockSha256, dirty: false },
    buildDigest: buildDigestOf(lockSha256, recipeDigest, versions),
    recipeDigest,
    toolchain: versions,
    binarySha256,
    cached: true,
    folder,
    logPath: null,
    sealed: { path: binariesFolder, digest: await folderDigest(binariesFolder) },
  };
}
