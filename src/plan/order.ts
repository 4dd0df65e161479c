/** The order of launches: balanced, so that drift and the place in a round cancel, and random, so that nothing else can align. */
import type { PlannedRound } from './schema.js';
import { Stream } from './stream.js';

/** 0, k-1, 1, k-2, …: its cyclic shifts put every arm at every place, and (k even) after every other once (Williams). */
const zigzag = (count: number): number[] =>
  Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i / 2 : count - (i + 1) / 2));

function block(arms: readonly string[], stream: Stream, mirrored: boolean): string[][] {
  const labels = stream.shuffled(arms);
  const first = mirrored ? zigzag(arms.length).toReversed() : zigzag(arms.length);
  const rows = Array.from({ length: arms.length }, (_, shift) =>
    first.map((place) => labels[(place + shift) % arms.length] ?? ''),
  );
  return stream.shuffled(rows);
}

/**
 * Orders of `rounds` rounds. Rounds come in blocks of as many rounds as arms; in a block each arm takes each place
 * once. For two arms a block is AB and BA, which first decided by the seed. Odd numbers of arms alternate a block
 * with its mirror image, which balances who follows whom.
 */
export function buildOrder(arms: readonly string[], rounds: number, seed: string): PlannedRound[] {
  const stream = new Stream(seed, 'order');
  const orders: string[][] = [];
  for (let index = 0; orders.length < rounds; index++) {
    orders.push(...block(arms, stream, arms.length % 2 === 1 && index % 2 === 1));
  }
  return orders.slice(0, rounds).map((order, round) => ({ round, order }));
}
