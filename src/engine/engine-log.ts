/**
 * What an engine says, in a file: all of it, or of one that says too much its first part and its last. A run that verifies must be one that
 * can be packed, read and kept, whatever its engines say.
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

/** How much of a log is kept. */
interface LogLimits {
  firstBytes: number;
  lastBytes: number;
}

/** Far more than an engine says of itself in one launch. */
const LIMITS: LogLimits = { firstBytes: 32 * 1024 * 1024, lastBytes: 1024 * 1024 };

/** Of the end, what `tail` looks at. */
const TAIL_BYTES = 64 * 1024;

/** One file of one launch; to be closed when the engine is gone. */
export class EngineLog {
  readonly #file: number;
  readonly #limits: LogLimits;
  #firstBytes = 0;
  /** What came after the first part: its last bytes, and how many came before those. */
  #last: Buffer[] = [];
  #lastBytes = 0;
  #leftOutBytes = 0;

  /** Opens a new file. @throws the system's error, also where there is one */
  constructor(path: string, limits = LIMITS) {
    this.#file = openSync(path, 'ax+', 0o644);
    this.#limits = limits;
  }

  /** @throws the system's error */
  write(data: Buffer): void {
    const first = data.subarray(0, this.#limits.firstBytes - this.#firstBytes);
    writeWhole(this.#file, first);
    this.#firstBytes += first.length;
    const rest = data.subarray(first.length);
    if (rest.length === 0) return;
    this.#last.push(rest);
    this.#lastBytes += rest.length;
    // Put together now and then, rather than for each piece.
    if (this.#lastBytes > 2 * this.#limits.lastBytes) this.#leaveOut();
  }

  /** Its last `count` lines, as far as they are not very long. */
  tail(count: number): string {
    const length = Math.min(TAIL_BYTES, fstatSync(this.#file).size);
    const end = Buffer.alloc(length);
    readSync(this.#file, end, 0, length, fstatSync(this.#file).size - length);
    const text = Buffer.concat([end, this.#gap(), ...this.#last])
      .subarray(-TAIL_BYTES)
      .toString('utf8');
    return text.trimEnd().split('\n').slice(-count).join('\n');
  }

  /** Writes the last part. To be called once. @throws the system's error; the file is closed all the same */
  close(): void {
    try {
      this.#leaveOut();
      for (const piece of [this.#gap(), ...this.#last]) writeWhole(this.#file, piece);
    } finally {
      closeSync(this.#file);
    }
  }

  /** What stands in the place of what is left out. */
  #gap(): Buffer {
    const text = this.#leftOutBytes === 0 ? '' : `\n[qualify leaves out ${this.#leftOutBytes} bytes here]\n`;
    return Buffer.from(text);
  }

  #leaveOut(): void {
    const last = Buffer.concat(this.#last);
    const leftOut = Math.max(0, last.length - this.#limits.lastBytes);
    this.#last = [Buffer.from(last.subarray(leftOut))];
    this.#lastBytes = last.length - leftOut;
    this.#leftOutBytes += leftOut;
  }
}

function writeWhole(file: number, data: Buffer): void {
  for (let at = 0; at < data.length; ) at += writeSync(file, data, at);
}
