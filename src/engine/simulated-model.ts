/** The model of a simulated engine: a line of JSON that says how many ids there are, since nothing computes with weights. */
import { join } from 'node:path';
import { z } from 'zod';
import { canonicalJson, sha256 } from '../digest.js';
import { cacheFolder } from '../harness.js';
import { replaceFile } from '../machine/replace-file.js';
import { makeCacheFolder } from '../make-folder.js';

export const simulatedModelSchema = z.strictObject({
  simulated: z.literal(true),
  vocabulary: z.int().min(256).max(65_536),
});

/** Writes the model into the cache, under the name of its digest. */
export async function simulatedModel(
  model: z.infer<typeof simulatedModelSchema>,
): Promise<{ path: string; sha256: string; sizeBytes: number }> {
  const text = `${canonicalJson(model)}\n`;
  const folder = join(cacheFolder(), 'models');
  makeCacheFolder(folder);
  const path = join(folder, `${sha256(text)}.json`);
  await replaceFile(path, text);
  return { path, sha256: sha256(text), sizeBytes: Buffer.byteLength(text) };
}
