/** Whether what was launched is at the end of a session what it was when it was built: a binary swapped in between proves nothing. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { sha256File } from '../engine/file-digest.js';
import { QualifyError } from '../errors.js';

/** Beyond these a folder is not the folder of a build. */
const MOST_FILES = 10_000;
/** Contents are hashed up to this; what lies beyond is known by its size and its time of change. */
const MOST_BYTES = 2 ** 31;

/** SHA-256 over the sorted paths of every regular file below a folder, relative to it, each with the SHA-256 of what it holds. */
export async function folderDigest(folder: string): Promise<string> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (paths.length > MOST_FILES) {
    throw new QualifyError('ERR_QUALIFY_PREBUILT', `${folder} holds ${paths.length} files.`, {
      exit: 'usage',
      hint: `Name a folder that holds a build and nothing else, ${MOST_FILES} files at most.`,
    });
  }
  const total = createHash('sha256');
  let bytes = 0;
  for (const path of paths.sort()) {
    const { size, mtimeMs } = await stat(path);
    bytes += size;
    const content = bytes > MOST_BYTES ? `${size} ${mtimeMs}` : await sha256File(path);
    total.update(`${relative(folder, path)}\0${content}\n`);
  }
  return total.digest('hex');
}

/** Something that is hashed twice: the binary of a build of ours, or the whole folder of somebody else's. */
export interface Sealed {
  readonly path: string;
  readonly digest: string;
}

/** @throws ERR_QUALIFY_BINARY_CHANGED (exit 15) that names the first that differs. */
export async function requireUnchanged(all: Iterable<Sealed>): Promise<void> {
  for (const { path, digest } of all) {
    const found = await stat(path).catch(() => undefined);
    const now = found === undefined ? null : await (found.isDirectory() ? folderDigest : sha256File)(path);
    if (now === digest) continue;
    throw new QualifyError('ERR_QUALIFY_BINARY_CHANGED', 'What was launched changed during the session.', {
      exit: 'infrastructure',
      where: path,
      hint: 'Leave builds alone while they are measured, and run again.',
    });
  }
}
