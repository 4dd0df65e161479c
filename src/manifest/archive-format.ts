/**
 * The one form of a run's archive: plain ustar, one entry a file, sorted, below one folder that is named after the session, every field
 * but name and size the same. Equal runs give equal bytes, and an archive that is not in this form is refused.
 */
import { Header } from 'tar';

export const BLOCK_BYTES = 512;

/** The most that is packed, and the most that is unpacked from a stranger's archive. */
export interface ArchiveLimits {
  files: number;
  /** Of all files together. */
  bytes: number;
}
export const ARCHIVE_LIMITS: ArchiveLimits = { files: 100_000, bytes: 8 * 1024 ** 3 };

/** No time of a run: the one that npm gives to all files of all packages. */
const MTIME = new Date('1985-10-26T08:15:00Z');

/** The header of a file, 512 bytes; null when its name or size does not fit into one. */
export function encodeHeader(path: string, sizeBytes: number): Buffer | null {
  const header = new Header({ path, size: sizeBytes, mode: 0o644, uid: 0, gid: 0, mtime: MTIME });
  header.type = 'File';
  const block = Buffer.alloc(BLOCK_BYTES);
  return header.encode(block) ? null : block;
}

/** Zeros that fill the last block of a file. */
export const paddingOf = (sizeBytes: number): number =>
  (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;

/** What an archive ends in: two blocks of zeros, and nothing after them. */
export const END = Buffer.alloc(2 * BLOCK_BYTES);
