/** Replaces a file by a whole one: whoever reads it, and whoever comes after a crash, finds the old bytes or the new ones. */
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Writes beside `path` and renames. */
export async function writeFileWhole(path: string, text: string | Uint8Array, mode: number): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    const file = await open(partial, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
