/** What a protocol of few rounds can and cannot show, in words: its numbers look like those of a full one. */
import { fewestRounds } from '../analysis/effect.js';
import type { Plan } from '../plan/schema.js';

/** Paragraphs for a plan with fewer rounds than any verdict needs; empty for others, and for an ablation, which judges no budget. */
export function smallProtocol({ rounds: { length: rounds }, protocol: { samples }, design }: Plan): string[] {
  if (rounds >= fewestRounds || design !== undefined) return [];
  if (rounds > 1) {
    return [
      `Small protocol, ${rounds} rounds: the centre of their ratios is shown without bounds. Below ${fewestRounds} rounds no interval is exact at a useful level, and five rounds cannot be balanced; nothing can pass, and "no regression" cannot be said.`,
    ];
  }
  const requests = samples === 1 ? 'The one request' : `The ${samples} requests`;
  return [
    `Small protocol, one launch of each arm. ${requests} of a launch share what that process and that minute happened to get: they are ${samples === 1 ? 'a reading' : `${samples} readings`} of one launch, no independent measurements. Where launches vary as much as requests do, a test on 5 and 5 of them finds a difference in 31 % of comparisons of equal things.`,
    `It can say: in this session the requests of one arm were faster than those of the other by so much. It cannot say whether the change, the launch or a drift in between made them so: there is no p, no interval, and no "no regression". ${fewestRounds} rounds can.`,
  ];
}
