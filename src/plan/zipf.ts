/** Token ids with the skew of text: rank r is drawn with probability proportional to 1 / (r + 1). */
import { Stream } from './stream.js';

/** Draws ids; `idOfRank` is a permutation of the vocabulary that the seed chose. */
export interface ZipfTable {
  draw(stream: Stream): number;
}

/**
 * A table over ids [0, vocabulary). Weights are whole numbers, floor(2^30 / (r + 1)), so that sums are exact and no
 * library of powers or logarithms can change a prompt.
 */
export function zipfTable(seed: string, vocabulary: number): ZipfTable {
  const cumulative = new Float64Array(vocabulary);
  let total = 0;
  for (let rank = 0; rank < vocabulary; rank++) {
    total += Math.floor(2 ** 30 / (rank + 1));
    cumulative[rank] = total;
  }
  const idOfRank = new Stream(seed, 'zipf').shuffled(Array.from({ length: vocabulary }, (_, id) => id));
  return {
    draw(stream) {
      const target = stream.belowWide(total);
      let low = 0;
      let high = vocabulary - 1;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((cumulative[middle] ?? 0) > target) high = middle;
        else low = middle + 1;
      }
      return idOfRank[low] ?? 0;
    },
  };
}
