/** What the commands that use the harness's own sources share: a build, made with progress, and the engine's addon. */
import type { EngineAddon } from '../engine/addon.js';
import { loadAddon } from '../engine/addon-loader.js';
import { type EngineBuild, embeddedBuild } from '../revision/build-cache.js';
import { describeBuild } from '../revision/build-process.js';
import { engineRecipe, type Recipe } from '../revision/recipe.js';
import { interruptSignal } from './interrupt.js';
import { startProgress } from './output.js';

/** What a recipe makes of the harness's own sources, built now when it is not in the cache. */
export async function requireBuild(recipe: Recipe): Promise<EngineBuild> {
  const progress = startProgress();
  try {
    const build = await embeddedBuild({
      recipe,
      signal: interruptSignal(),
      onProgress: (step) => {
        const share = step.done === null ? null : step.done / (step.total ?? 1);
        // A wait has no share, so that only a word of its own reaches a log.
        if (step.phase === 'waiting') progress.end(describeBuild(recipe.what, step));
        else progress.update(describeBuild(recipe.what, step), share);
      },
    });
    progress.end(build.cached ? undefined : `built ${recipe.what}; it is cached in ${build.folder}`);
    return build;
  } catch (error) {
    progress.end();
    throw error;
  }
}

/** The harness's own engine. */
export const requireEmbeddedBuild = (): Promise<EngineBuild> => requireBuild(engineRecipe);

/** The addon of the harness's own engine, loaded into this process. */
export async function requireEmbeddedAddon(): Promise<EngineAddon> {
  return loadAddon((await requireEmbeddedBuild()).binary);
}
