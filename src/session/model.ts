/** The model of a plan as a file with a digest: generated once and cached, or the user's own. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256File } from '../engine/file-digest.js';
import { cachedModel } from '../engine/model-cache.js';
import { QualifyError } from '../errors.js';
import type { Plan } from '../plan/schema.js';
import type { SessionContext, SessionProgress } from './context.js';

interface ModelFile {
  /** Absolute. */
  path: string;
  sha256: string;
  sizeBytes: number;
}

/** The file, made now when it is generated and not in the cache. */
export async function modelFile(
  { model }: Pick<Plan, 'model'>,
  progress: SessionProgress,
  signal: AbortSignal,
): Promise<ModelFile> {
  progress.update('preset' in model ? `model ${model.preset}` : `model ${model.path}`, null);
  if (!('preset' in model)) return describeFile(resolve(model.path));
  return cachedModel({ ...model, signal, onProgress: (line) => progress.update(line, null) });
}

/** Answers the absolute path, after writing the `model` entry. */
export async function provideModel(context: SessionContext): Promise<string> {
  const provided = await modelFile(context.plan, context.progress, context.signal);
  context.journal.append({ kind: 'model', sha256: provided.sha256, sizeBytes: String(provided.sizeBytes) });
  return provided.path;
}

async function describeFile(path: string): Promise<ModelFile> {
  try {
    return { path, sha256: await sha256File(path), sizeBytes: (await stat(path)).size };
  } catch (cause) {
    throw new QualifyError('ERR_QUALIFY_MODEL_FAILED', `Cannot read the model ${path}.`, {
      exit: 'infrastructure',
      hint: "The path of a matrix's model is taken from the folder in which qualify runs.",
      cause,
    });
  }
}
