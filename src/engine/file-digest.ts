/** SHA-256 of a file of any size, read in pieces. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const PIECE_BYTES = 1 << 20;

/** Lower-case hex. Rejects with the system's error when the file cannot be read. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES }))
    hash.update(piece as Buffer);
  return hash.digest('hex');
}
