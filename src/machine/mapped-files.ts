/** The executable files that a process has mapped, each known by its content. */
import { statSync } from 'node:fs';
import { sha256File } from '../engine/file-digest.js';

/** One mapped object: its path, and whether its file is gone from there. */
export interface MappedFile {
  path: string;
  deleted: boolean;
}

const DELETED = / \(deleted\)$/;

/** Files with an executable mapping in the text of `/proc/PID/maps`, once each. Pure. */
export function executableMappings(maps: string): MappedFile[] {
  const found = new Map<string, MappedFile>();
  for (const line of maps.split('\n')) {
    const [, permissions = '', path = ''] = /^\S+ (\S+) \S+ \S+ \d+\s+(\/.*)$/.exec(line) ?? [];
    if (!permissions.includes('x')) continue;
    found.set(path, { path: path.replace(DELETED, ''), deleted: DELETED.test(path) });
  }
  return [...found.values()];
}

/** By device, inode, time of change and size: a file is read once a session, however many launches map it. */
const digests = new Map<string, Promise<string>>();

/** SHA-256 of a file, or why there is none. */
export async function mappedDigest({ path, deleted }: MappedFile): Promise<string> {
  if (deleted) return 'deleted';
  try {
    const { dev, ino, mtimeNs, size } = statSync(path, { bigint: true });
    const key = `${dev}:${ino}:${mtimeNs}:${size}`;
    const known = digests.get(key);
    if (known !== undefined) return await known;
    const reading = sha256File(path);
    digests.set(key, reading);
    // What could not be read is tried anew, and is no digest.
    reading.catch(() => digests.delete(key));
    return await reading;
  } catch {
    return 'unreadable';
  }
}
