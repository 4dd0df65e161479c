/** SHA-256 of a file of any size, read in pieces. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const PIECE_BYTES = 1 << 20;

/** Lower-case hex. Rejects with the system's error when the file cannot be read. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256');
  // One buffer over and over: a stream's fresh ones stay with the allocator, and the engine's process hashes its model.
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  const file = await open(path);
  try {
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, PIECE_BYTES);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
