/** Loads a build's `engine.node` into this process. */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import type { EngineAddon } from './addon.js';

const isFunction = z.custom<(...parameters: never[]) => unknown>((value) => typeof value === 'function');
const surfaceSchema = z.looseObject({
  cpu: isFunction,
  createModel: isFunction,
  inspectModel: isFunction,
  open: isFunction,
});

/** @throws ERR_QUALIFY_ADDON when the file does not load, or is not an engine of ours. */
export function loadAddon(path: string): EngineAddon {
  const absolute = resolve(path);
  let loaded: unknown;
  try {
    loaded = createRequire(import.meta.url)(absolute);
  } catch (error) {
    throw new QualifyError('ERR_QUALIFY_ADDON', `the engine does not load: ${(error as Error).message}`, {
      exit: 'infrastructure',
      where: absolute,
      cause: error,
    });
  }
  if (!surfaceSchema.safeParse(loaded).success) {
    throw new QualifyError('ERR_QUALIFY_ADDON', 'the file loads but is not an engine of this version', {
      exit: 'infrastructure',
      where: absolute,
    });
  }
  return loaded as EngineAddon;
}
