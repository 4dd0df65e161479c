/** What the commands that use the embedded engine share: its build, made with progress, and its addon. */
import type { EngineAddon } from '../engine/addon.js';
import { loadAddon } from '../engine/addon-loader.js';
import { type EngineBuild, embeddedBuild } from '../revision/build-cache.js';
import { describeBuild } from '../revision/build-process.js';
import { interruptSignal } from './interrupt.js';
import { startProgress } from './output.js';

/** The harness's own engine, built now when it is not in the cache. */
export async function requireEmbeddedBuild(): Promise<EngineBuild> {
  const progress = startProgress();
  try {
    const build = await embeddedBuild({
      signal: interruptSignal(),
      onProgress: (step) => {
        const share = step.done === null ? null : step.done / (step.total ?? 1);
        // A wait has no share, so that only a word of its own reaches a log.
        if (step.phase === 'waiting') progress.end(describeBuild('the engine', step));
        else progress.update(describeBuild('the engine', step), share);
      },
    });
    progress.end(build.cached ? undefined : `built the engine; it is cached in ${build.folder}`);
    return build;
  } catch (error) {
    progress.end();
    throw error;
  }
}

/** The addon of the harness's own engine, loaded into this process. */
export async function requireEmbeddedAddon(): Promise<EngineAddon> {
  return loadAddon((await requireEmbeddedBuild()).binary);
}
