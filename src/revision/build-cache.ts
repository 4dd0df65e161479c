/**
 * Builds, each made once: `<cache>/builds/<buildDigest>/{engine.node,build.json,build.log}`. The digest is
 * over (source tree, recipe, toolchain), so two revisions with the same sources share a build, and are known to. A build made
 * once more, from a copy of the sources in another place, lies beside it as `<buildDigest>.elsewhere`.
 */
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { diskFull, saysDiskFull } from '../disk-full.js';
import { sha256File } from '../engine/file-digest.js';
import { QualifyError } from '../errors.js';
import { cacheFolder, harnessFolder } from '../harness.js';
import { guardPath } from '../machine/guard.js';
import { replaceFile } from '../machine/replace-file.js';
import { sha256Schema } from '../plan/schema.js';
import { buildDigestOf } from './build-digest.js';
import { type BuildProgress, closeLog, openLog, runStep } from './build-process.js';
import { withCacheLock } from './cache-lock.js';
import { copySources } from './copy-sources.js';
import { engineRecipe, type Recipe, recipeEnvironment, recipeSteps } from './recipe.js';
import { sourceTreeDigest } from './source-tree.js';
import { findToolchain, type Toolchain } from './toolchain.js';

const buildFileSchema = z.strictObject({
  buildDigest: sha256Schema,
  treeDigest: sha256Schema,
  recipeDigest: sha256Schema,
  toolchain: z.record(z.string(), z.string()),
  binarySha256: sha256Schema,
});

/** A build, ready to be launched. */
export interface EngineBuild extends z.infer<typeof buildFileSchema> {
  /** Absolute folder that holds the binary. */
  folder: string;
  /** Absolute path of `engine.node`, or of what another recipe makes. */
  binary: string;
  /** False when it was made just now. */
  cached: boolean;
  logPath: string;
}

export interface BuildOptions {
  /** What is built; the engine unless told. */
  recipe?: Recipe;
  /** Folder with `native/` and `kernels/`. */
  sourceFolder: string;
  /** Make it once more, from a copy of the sources at another path: it must give the same binary. */
  elsewhere?: boolean;
  /** Digest of the sources when it is known already (see `sourceTreeDigest`). */
  treeDigest?: string;
  onProgress?: (progress: BuildProgress) => void;
  /** Ends a build; nothing of it stays, no process and no file. */
  signal?: AbortSignal;
}

async function readCached(folder: string, { binaryName }: Recipe): Promise<EngineBuild | undefined> {
  const text = await readFile(join(folder, 'build.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const binary = join(folder, binaryName);
  try {
    const file = buildFileSchema.parse(JSON.parse(text));
    if ((await sha256File(binary)) !== file.binarySha256) return undefined;
    return { ...file, folder, binary, cached: true, logPath: join(folder, 'build.log') };
  } catch {
    // Damaged by hand or by a full disk: made again rather than trusted.
    return undefined;
  }
}

/** Only the holder of a build's lock makes it, so scratch folders of that build were left by a killed process. */
async function removeScratch(builds: string, prefix: string): Promise<void> {
  for (const name of await readdir(builds)) {
    if (name.startsWith(prefix)) await rm(join(builds, name), { recursive: true, force: true });
  }
}

async function failed(
  what: string,
  step: string,
  exitCode: number | null,
  tail: string[],
  log: string,
  builds: string,
): Promise<never> {
  if (saysDiskFull(tail.join('\n'))) throw diskFull(builds);
  await mkdir(join(builds, 'failed'), { recursive: true });
  const kept = join(builds, 'failed', `${Date.now()}-${process.pid}.log`);
  await copyFile(log, kept);
  throw new QualifyError(
    'ERR_QUALIFY_BUILD_FAILED',
    `the build of ${what} failed in step ${step} (exit ${exitCode ?? 'by signal'}):\n${tail.join('\n')}`,
    {
      exit: 'infrastructure',
      hint: 'read the log; the command that failed is on a line that begins with $',
      where: kept,
    },
  );
}

const sourcesChanged = (folder: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_SOURCES_CHANGED', "the engine's sources changed while they were compiled", {
    exit: 'infrastructure',
    hint: 'leave native/ and kernels/ alone during a build, and start again',
    where: folder,
  });

async function make(
  options: BuildOptions,
  recipe: Recipe,
  digests: { treeDigest: string; buildDigest: string },
  toolchain: Toolchain,
  folder: string,
): Promise<EngineBuild> {
  const builds = join(folder, '..');
  const prefix = `.making-${options.elsewhere ? 'elsewhere-' : ''}${digests.buildDigest.slice(0, 16)}-`;
  await removeScratch(builds, prefix);
  const scratch = await mkdtemp(join(builds, prefix));
  const dismissGuard = guardPath(scratch);
  try {
    const result = join(scratch, 'result');
    const build = join(scratch, options.elsewhere ? 'once-more' : 'build');
    const source = options.elsewhere ? join(scratch, 'sources') : resolve(options.sourceFolder);
    if (options.elsewhere) await copySources(resolve(options.sourceFolder), source);
    await mkdir(result);
    await mkdir(build);
    const log = openLog(join(result, 'build.log'));
    const place = { source, build, jobs: availableParallelism() };
    for (const step of recipeSteps(recipe, place, toolchain)) {
      const outcome = await runStep(step, { environment: recipeEnvironment(), log, ...options });
      if (outcome.exitCode !== 0) {
        await closeLog(log);
        await failed(
          recipe.what,
          step.name,
          outcome.exitCode,
          outcome.tail,
          join(result, 'build.log'),
          builds,
        );
      }
    }
    await closeLog(log);
    // A build takes minutes on a busy machine, and people go on editing or switch branches under it.
    if ((await sourceTreeDigest(source, recipe.leftOut)) !== digests.treeDigest)
      throw sourcesChanged(options.sourceFolder);
    await copyFile(join(build, recipe.binaryName), join(result, recipe.binaryName));
    const file = {
      ...digests,
      recipeDigest: recipe.digest,
      toolchain: toolchain.versions,
      binarySha256: await sha256File(join(result, recipe.binaryName)),
    };
    await replaceFile(join(result, 'build.json'), `${JSON.stringify(file, null, 2)}\n`);
    await rm(folder, { recursive: true, force: true });
    await rename(result, folder);
    return {
      ...file,
      folder,
      binary: join(folder, recipe.binaryName),
      cached: false,
      logPath: join(folder, 'build.log'),
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
    dismissGuard();
  }
}

/**
 * The build of the sources in a folder, made now or taken from the cache.
 * @throws ERR_QUALIFY_BUILD_FAILED with the last lines and the log's place, ERR_QUALIFY_TOOL_MISSING with the remedy,
 * ERR_QUALIFY_NO_ENGINE_SOURCES, ERR_QUALIFY_SOURCES_CHANGED; the reason of `signal` when aborted.
 */
export async function buildEngine(options: BuildOptions): Promise<EngineBuild> {
  const toolchain = await findToolchain();
  const recipe = options.recipe ?? engineRecipe;
  const treeDigest = options.treeDigest ?? (await sourceTreeDigest(options.sourceFolder, recipe.leftOut));
  const buildDigest = buildDigestOf(treeDigest, recipe.digest, toolchain.versions);
  const builds = join(cacheFolder(), 'builds');
  const folder = join(builds, options.elsewhere ? `${buildDigest}.elsewhere` : buildDigest);
  const found = await readCached(folder, recipe);
  if (found !== undefined) return found;
  return withCacheLock(
    `${folder}.lock`,
    async () =>
      (await readCached(folder, recipe)) ??
      make(options, recipe, { treeDigest, buildDigest }, toolchain, folder),
    {
      signal: options.signal,
      onWait: (pid) =>
        options.onProgress?.({
          phase: 'waiting',
          done: null,
          total: null,
          text: `waiting for pid ${pid}, which makes the same build`,
        }),
    },
  );
}

/** A build of the harness's own `native/` and `kernels/`: what `qualify model`, `engine` and `kernels` run. */
export function embeddedBuild(options: Omit<BuildOptions, 'sourceFolder'> = {}): Promise<EngineBuild> {
  return buildEngine({ ...options, sourceFolder: harnessFolder });
}
