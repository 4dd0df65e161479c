/** Files of `/proc` and `/sys` that are read again and again: opened once, and read from their beginning each time. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

/** As many as a table of processes is likely to want. */
const MOST_KEPT = 4096;

const BUFFER_BYTES = 65_536;

/** How many descriptors may stay open: half of what this process may have, so that it never lacks one. */
function affordable(): number {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  const open = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN);
  return Number.isNaN(open) ? MOST_KEPT : Math.min(MOST_KEPT, Math.floor(open / 2));
}

/** Opening, asking for the size and closing cost more than the reading. Files beyond `most` are opened for each reading. */
export class KeptFiles {
  readonly #most: number;
  readonly #open = new Map<string, number>();
  readonly #buffer = Buffer.alloc(BUFFER_BYTES);

  constructor(most: number = affordable()) {
    this.#most = most;
  }

  /** What a file that the kernel gives in one piece says now, up to 64 KiB; null when it cannot be read. */
  read(path: string): string | null {
    return this.#reading(path, (file) => this.#piece(file, 0));
  }

  /** The same of a file that the kernel gives piece by piece, of any length. */
  readLong(path: string): string | null {
    return this.#reading(path, (file) => {
      let text = '';
      let piece: string;
      do {
        piece = this.#piece(file, text.length);
        text += piece;
      } while (piece !== '');
      return text;
    });
  }

  /** Lets go of a file that will not be read again. */
  forget(path: string): void {
    const file = this.#open.get(path);
    if (file === undefined) return;
    this.#open.delete(path);
    closeSync(file);
  }

  close(): void {
    for (const path of [...this.#open.keys()]) this.forget(path);
  }

  // One byte a character, so that lengths of texts are places in the file.
  #piece(file: number, from: number): string {
    const length = readSync(file, this.#buffer, 0, BUFFER_BYTES, from);
    return this.#buffer.toString('latin1', 0, length);
  }

  #reading(path: string, from: (file: number) => string): string | null {
    const kept = this.#open.get(path);
    if (kept !== undefined) {
      try {
        return from(kept);
      } catch {
        // What it was opened for is gone; another thing may have its name by now.
        this.forget(path);
      }
    }
    try {
      const file = openSync(path, 'r');
      if (this.#open.size < this.#most) this.#open.set(path, file);
      try {
        return from(file);
      } finally {
        if (this.#open.get(path) !== file) closeSync(file);
      }
    } catch {
      this.forget(path);
      return null;
    }
  }
}
