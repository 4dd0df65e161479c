/**
 * The order of a launch's requests. Samples begin with another prompt in each round, so that what a prompt costs and what its
 * place in the launch costs can be told apart; all arms of a round ask in one order.
 */
import { promptsOf } from './find-prompt.js';
import type { Plan, Prompt } from './schema.js';

/** The golden ratio's share of a turn: its multiples spread evenly over any number of samples. In millionths, so that sums are exact. */
const TURN = 618_034;
const WHOLE = 1_000_000;

/** How many samples the order of a round is turned by, of `count`. */
export const turnOf = (round: number, count: number): number =>
  Math.floor((((round * TURN) % WHOLE) * count) / WHOLE);

/** Prompts of a cell of one kind, in the order in which a launch of `round` asks them. */
export function promptsInOrder(
  plan: Pick<Plan, 'prompts'>,
  cell: string,
  kind: Prompt['kind'],
  round: number,
): Prompt[] {
  const prompts = promptsOf(plan, cell, kind);
  if (kind !== 'sample') return [...prompts];
  const turn = turnOf(round, prompts.length);
  return [...prompts.slice(turn), ...prompts.slice(0, turn)];
}
