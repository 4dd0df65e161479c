/** Sources of randomness for the noise model: by counter, so that any draw can be made again alone, or fast, for many of them. */
import type { Stream } from '../plan/stream.js';

export interface Draw {
  /** Uniform in (0, 1). */
  uniform(): number;
  /** Standard normal. */
  normal(): number;
}

/** Draws of a stream by counter. A normal takes two words (Box and Muller). */
export function streamDraw(stream: Stream): Draw {
  const uniform = (): number => (stream.word() + 0.5) / 2 ** 32;
  return {
    uniform,
    normal: () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  };
}

const rotated = (x: number, by: number): number => (x << by) | (x >>> (32 - by));

/** xoshiro128** (Blackman and Vigna), seeded with four words of a stream; normals by Marsaglia's polar method. */
export class FastDraw implements Draw {
  #a: number;
  #b: number;
  #c: number;
  #d: number;
  /** The second normal of a pair; NaN when there is none. */
  #spare = Number.NaN;

  constructor(seed: Stream) {
    this.#a = seed.word() | 0;
    this.#b = seed.word() | 0;
    this.#c = seed.word() | 0;
    // A state of zeros alone would stay there.
    this.#d = seed.word() | 1;
  }

  uniform(): number {
    const word = Math.imul(rotated(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotated(this.#d, 11);
    return (word + 0.5) / 2 ** 32;
  }

  normal(): number {
    const spare = this.#spare;
    if (!Number.isNaN(spare)) {
      this.#spare = Number.NaN;
      return spare;
    }
    for (;;) {
      const x = 2 * this.uniform() - 1;
      const y = 2 * this.uniform() - 1;
      const square = x * x + y * y;
      if (square >= 1 || square === 0) continue;
      const scale = Math.sqrt((-2 * Math.log(square)) / square);
      this.#spare = y * scale;
      return x * scale;
    }
  }
}
