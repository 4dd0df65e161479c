/** The order of launches: balanced, so that drift and the place in a round cancel, and random, so that nothing else can align. */
import type { PlannedRound } from './schema.js';
import { Stream } from './stream.js';

/** 0, k-1, 1, k-2, …: its cyclic shifts put every arm at every place, and (k even) after every other once (Williams). */
const zigzag = (count: number): number[] =>
  Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i / 2 : count - (i + 1) / 2));

/** Each cyclic shift of `pattern`, as names, in random order. */
function block(pattern: readonly number[], labels: readonly string[], stream: Stream): string[][] {
  const rows = labels.map((_, shift) =>
    pattern.map((place) => labels[(place + shift) % labels.length] ?? ''),
  );
  return stream.shuffled(rows);
}

/**
 * Orders of `rounds` rounds. Rounds come in blocks of as many rounds as arms; in a block each arm takes each place
 * once. For two arms a block is AB and BA, which first decided by the seed. For an odd number of arms a block is followed
 * by its mirror image, which balances who follows whom.
 */
export function buildOrder(arms: readonly string[], rounds: number, seed: string): PlannedRound[] {
  const stream = new Stream(seed, 'order');
  const orders: string[][] = [];
  const pattern = zigzag(arms.length);
  while (orders.length < rounds) {
    const labels = stream.shuffled(arms);
    orders.push(...block(pattern, labels, stream));
    if (arms.length % 2 === 1) orders.push(...block(pattern.toReversed(), labels, stream));
  }
  return orders.slice(0, rounds).map((order, round) => ({ round, order }));
}
