/**
 * Replaces a key of the user's by a new one of the same name; the old one stays, under a name with the date. Whatever step the process
 * dies at, the name has a key that signs and the old private key is on disk: the old one gets its second name before the first is taken
 * from it, and that happens in one rename.
 */
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { folderLockAddress, takeMachineLock } from '../machine/lock.js';
import {
  checkName,
  inFolder,
  isErrno,
  keyFolder,
  loadKey,
  type OwnKey,
  writeNewPrivateKey,
} from './key-store.js';

export interface Rotation {
  /** The new key, under the old name. */
  readonly key: OwnKey;
  /** The old key, under its dated name. */
  readonly old: OwnKey;
  readonly at: Date;
}

const MOST_A_DAY = 100;

/** @throws ERR_QUALIFY_NO_KEY (exit 64) when there is no such key of the user's own, and what else `loadKey` throws */
export async function rotateKey(name: string, at = new Date(), folder = keyFolder()): Promise<Rotation> {
  checkName(name);
  await loadKey(name, folder);
  return inFolder(folder, async () => {
    // Of two rotations at once, one would replace the key that the other has just announced.
    const lock = await takeMachineLock({
      what: `rotating "${name}"`,
      wait: true,
      address: folderLockAddress(folder),
    });
    try {
      return await rotateAlone(name, at, folder);
    } finally {
      await lock.release();
    }
  });
}

async function rotateAlone(name: string, at: Date, folder: string): Promise<Rotation> {
  const { publicKey, path } = await loadKey(name, folder);
  const partial = await writeNewPrivateKey(name, folder);
  try {
    const dated = await keepUnderDate(name, path, at, folder);
    const old = await loadKey(dated, folder);
    if (old.publicKey.keyId !== publicKey.keyId) throw new Error(`${dated} is not the key that was rotated`);
    // Gone first, so that no public half of the old key stands beside the new private one; `loadKey` writes them again.
    for (const half of [`${name}.pub.pem`, `${name}.pub`]) await rm(join(folder, half), { force: true });
    await rename(partial, path);
    await syncFolder(folder);
    return { key: await loadKey(name, folder), old, at };
  } finally {
    await rm(partial, { force: true });
  }
}

/** Gives the private key its second name, `NAME-YYYYMMDD` or that with a number; one that has been given before is used again. */
async function keepUnderDate(name: string, path: string, at: Date, folder: string): Promise<string> {
  const day = at.toISOString().slice(0, 10).replaceAll('-', '');
  for (let number = 1; number <= MOST_A_DAY; number += 1) {
    const dated = number === 1 ? `${name}-${day}` : `${name}-${day}-${number}`;
    const target = join(folder, `${dated}.pem`);
    try {
      await link(path, target);
      await syncFolder(folder);
      return dated;
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
      if ((await readFile(target)).equals(await readFile(path))) return dated;
    }
  }
  throw new QualifyError('ERR_QUALIFY_KEY_EXISTS', `"${name}" was rotated ${MOST_A_DAY} times today`, {
    exit: 'usage',
    where: folder,
    hint: 'Move old keys away.',
  });
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
