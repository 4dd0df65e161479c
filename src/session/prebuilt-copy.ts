/** A copy of somebody else's build in another place, for the null arm: what cannot be built again can still lie elsewhere. */
import { constants } from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { cacheFolder } from '../harness.js';
import { guardPath } from '../machine/guard.js';
import { makeCacheFolder } from '../make-folder.js';
import { folderDigest } from './binaries.js';

/**
 * Copies a folder once to `<cache>/builds/copied-elsewhere/<digest of its content>/<its name>`. Answers the copy, which holds
 * the same bytes; one that does not is made again.
 */
export async function copyElsewhere(folder: string): Promise<string> {
  const digest = await folderDigest(folder);
  const copies = join(cacheFolder(), 'builds', 'copied-elsewhere');
  const place = join(copies, digest);
  const copy = join(place, basename(resolve(folder)));
  if ((await digestOrNone(copy)) === digest) return copy;
  makeCacheFolder(copies);
  const scratch = await mkdtemp(join(copies, '.making-'));
  const dismissGuard = guardPath(scratch);
  try {
    const options = { recursive: true, preserveTimestamps: true, mode: constants.COPYFILE_FICLONE };
    await cp(folder, join(scratch, basename(resolve(folder))), options);
    await rm(place, { recursive: true, force: true });
    await rename(scratch, place);
    return copy;
  } finally {
    await rm(scratch, { recursive: true, force: true });
    dismissGuard();
  }
}

/** A folder that cannot be read has no digest. */
const digestOrNone = (folder: string): Promise<string | null> => folderDigest(folder).catch(() => null);
