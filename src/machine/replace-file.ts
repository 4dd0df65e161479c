/** Replaces a file by a whole one: whoever reads it, and whoever comes after a crash, finds the old bytes or the new ones. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { explainDiskFull } from '../disk-full.js';
import { guardPath } from './guard.js';
import { partialPath, writeBeside } from './write-new.js';

/**
 * Writes `content` in the place of `path`, or anew.
 * @throws QualifyError `ERR_QUALIFY_DISK_FULL` (exit 15), or else the system's error
 */
export const replaceFile = (path: string, content: string | Buffer, mode = 0o644): Promise<void> =>
  writeBeside(path, (write) => write(Buffer.from(content)), { place: rename, mode });

/**
 * As `replaceFile`, where nothing may come between: the file is there when this returns.
 * @throws as `replaceFile`
 */
export function replaceFileSync(path: string, text: string): void {
  const partial = partialPath(path);
  const dismissGuard = guardPath(partial);
  try {
    const file = openSync(partial, 'wx', 0o644);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw explainDiskFull(error, path);
  } finally {
    dismissGuard();
  }
}
