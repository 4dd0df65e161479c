/** Writes that are whole or throw. */
import { writeSync } from 'node:fs';

/** A disk that fills up takes part of what it is given before it refuses the rest. */
export function writeWhole(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}
