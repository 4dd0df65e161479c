/**
 * Random numbers by counter: block `i` of a stream is SHA-256 of `seed:label:i`, read as eight unsigned 32-bit
 * little-endian words. The same on every machine, and any stream can be drawn without drawing another.
 */
import { hash } from 'node:crypto';

const wordsPerBlock = 8;

export class Stream {
  readonly #prefix: string;
  /** A character a byte: a digest as a text is had twice as fast as one in memory of its own. */
  #block = '';
  /** Byte of the block at which the next word begins. */
  #next = 4 * wordsPerBlock;
  #counter = 0;

  /** `seed` names the session's randomness, `label` what this stream is for. */
  constructor(seed: string, label: string) {
    this.#prefix = `${seed}:${label}:`;
  }

  /** The next unsigned 32-bit word. */
  word(): number {
    if (this.#next === 4 * wordsPerBlock) {
      this.#block = hash('sha256', `${this.#prefix}${this.#counter++}`, 'binary');
      this.#next = 0;
    }
    const [block, at] = [this.#block, this.#next];
    this.#next += 4;
    const high = (block.charCodeAt(at + 3) << 8) | block.charCodeAt(at + 2);
    return high * 0x1_0000 + ((block.charCodeAt(at + 1) << 8) | block.charCodeAt(at));
  }

  /** A whole number in [0, limit), limit up to 2^21. Exact in doubles; the bias is below limit / 2^32. */
  below(limit: number): number {
    return Math.floor((this.word() * limit) / 2 ** 32);
  }

  /** A whole number in [0, limit), limit up to 2^53. */
  belowWide(limit: number): number {
    const high = this.word();
    const low = this.word() >>> 11;
    return Math.floor(((high * 2 ** 21 + low) / 2 ** 53) * limit);
  }

  /** A copy of `items` in random order (Fisher-Yates). */
  shuffled<T>(items: readonly T[]): T[] {
    const pool = [...items];
    const out: T[] = [];
    while (pool.length > 0) {
      const index = this.below(pool.length);
      out.push(...pool.slice(index, index + 1));
      const last = pool.pop();
      if (index < pool.length && last !== undefined) pool[index] = last;
    }
    return out;
  }
}
