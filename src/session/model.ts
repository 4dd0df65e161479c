/** The model of a plan as a file with a digest: generated once and cached, or the user's own. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256File } from '../engine/file-digest.js';
import { cachedModel } from '../engine/model-cache.js';
import { QualifyError } from '../errors.js';
import type { SessionContext } from './context.js';

/** Answers the absolute path, after writing the `model` entry. */
export async function provideModel(context: SessionContext): Promise<string> {
  const { model } = context.plan;
  context.progress.update('preset' in model ? `model ${model.preset}` : `model ${model.path}`, null);
  const provided =
    'preset' in model
      ? await cachedModel({
          ...model,
          signal: context.signal,
          onProgress: (line) => context.progress.update(line, null),
        })
      : await describeFile(resolve(model.path));
  context.journal.append({ kind: 'model', sha256: provided.sha256, sizeBytes: String(provided.sizeBytes) });
  return provided.path;
}

async function describeFile(path: string): Promise<{ path: string; sha256: string; sizeBytes: number }> {
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
