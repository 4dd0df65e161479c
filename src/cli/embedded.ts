/** What the commands that use the embedded engine share: its build, made with progress, and its addon. */
import type { EngineAddon } from '../engine/addon.js';
import { loadAddon } from '../engine/addon-loader.js';
import { type EngineBuild, embeddedBuild } from '../revision/build-cache.js';
import type { BuildProgress } from '../revision/build-process.js';
import { interruptSignal } from './interrupt.js';
import { startProgress } from './output.js';

/** `building the engine [12/80] …`. */
export function describeBuild(progress: BuildProgress): string {
  if (progress.phase === 'waiting') return `building the engine: ${progress.text}`;
  if (progress.done === null) return `building the engine: ${progress.phase}`;
  return `building the engine [${progress.done}/${progress.total}]`;
}

/** The harness's own engine, built now when it is not in the cache. */
export async function requireEmbeddedBuild(): Promise<EngineBuild> {
  const progress = startProgress();
  try {
    return await embeddedBuild({
      signal: interruptSignal(),
      onProgress: (step) => {
        progress.update(describeBuild(step), step.done === null ? null : step.done / (step.total ?? 1));
      },
    });
  } finally {
    progress.end();
  }
}

/** The addon of the harness's own engine, loaded into this process. */
export async function requireEmbeddedAddon(): Promise<EngineAddon> {
  return loadAddon((await requireEmbeddedBuild()).binary);
}
