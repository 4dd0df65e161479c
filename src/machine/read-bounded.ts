/** Reads a file that somebody else may have written, or put another thing in the place of: never more than is wanted, and never waiting. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** Makes the error of the caller out of a predicate: `cannot be read (ENOENT)`. */
type Refuse = (why: string, cause?: unknown) => Error;

/**
 * The bytes of a regular file of at most `maximumBytes`; of a link, those of what it leads to.
 * @throws what `refuse` makes, for a file that cannot be read, is longer, or is a pipe, a device or a folder
 */
export function readBounded(path: string, maximumBytes: number, refuse: Refuse): Buffer {
  let file: number;
  try {
    // Non-blocking, so that a pipe cannot hang us.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw unreadable(refuse, cause);
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw refuse('is not a regular file');
    if (found.size > maximumBytes) throw refuse(`is longer than ${maximumBytes} bytes`);
    const pieces: Buffer[] = [];
    // What grows meanwhile, or has no size (/proc), is held to the bound too.
    for (let left = maximumBytes + 1; left > 0; ) {
      const piece = Buffer.alloc(Math.min(left, Math.max(found.size, CHUNK_BYTES) + 1));
      const length = readPiece(file, piece, refuse);
      if (length === 0) return Buffer.concat(pieces);
      pieces.push(piece.subarray(0, length));
      left -= length;
    }
    throw refuse(`is longer than ${maximumBytes} bytes`);
  } finally {
    closeSync(file);
  }
}

const CHUNK_BYTES = 4096;

function readPiece(file: number, piece: Buffer, refuse: Refuse): number {
  try {
    return readSync(file, piece);
  } catch (cause) {
    throw unreadable(refuse, cause);
  }
}

const unreadable = (refuse: Refuse, cause: unknown): Error =>
  refuse(`cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`, cause);
