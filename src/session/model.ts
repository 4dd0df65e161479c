/** The model of a plan as a file with a digest: generated once and cached, or the user's own. A simulated one is a line. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256File } from '../engine/file-digest.js';
import { cachedModel } from '../engine/model-cache.js';
import { simulatedModel } from '../engine/simulated-model.js';
import { QualifyError } from '../errors.js';
import type { BuildContext } from './arm-builds.js';
import type { SessionContext } from './context.js';

/** A model where it lies: its absolute path, and what it is known by. */
interface FoundModel {
  path: string;
  sha256: string;
  sizeBytes: number;
}

/** The model of a plan, made now or found. */
export async function findModel({ plan, progress, signal }: BuildContext): Promise<FoundModel> {
  const { model } = plan;
  if ('simulated' in model) return simulatedModel(model);
  progress.update('preset' in model ? `model ${model.preset}` : `model ${model.path}`, null);
  return 'preset' in model
    ? await cachedModel({ ...model, signal, onProgress: (line) => progress.update(line, null) })
    : await describeFile(resolve(model.path));
}

/** Answers the absolute path, after writing the `model` entry. */
export async function provideModel(context: SessionContext): Promise<string> {
  const { path, sha256, sizeBytes } = await findModel(context);
  context.journal.append({ kind: 'model', sha256, sizeBytes: String(sizeBytes) });
  return path;
}

async function describeFile(path: string): Promise<FoundModel> {
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
