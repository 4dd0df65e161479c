/** Replaces a file by a whole one: whoever reads it, and whoever comes after a crash, finds the old bytes or the new ones. */
import { rename } from 'node:fs/promises';
import { writeBeside } from './write-new.js';

/**
 * Writes `text` in the place of `path`, or anew.
 * @throws QualifyError `ERR_QUALIFY_DISK_FULL` (exit 15), or else the system's error
 */
export const replaceFile = (path: string, text: string, mode = 0o644): Promise<void> =>
  writeBeside(path, (write) => write(Buffer.from(text)), { place: rename, mode });
