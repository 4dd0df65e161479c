/** The null arm: the reference once more, in the first rounds. What differs between the two is what the session makes up. */
import { NULL_ARM } from '../matrix/schema.js';
import type { Plan, PlannedRound } from './schema.js';

type PlannedArm = Plan['arms'][number];

/** The null arm of a reference. Everything of it is the reference's but its name. */
export const nullArmOf = (reference: PlannedArm): PlannedArm => ({
  ...reference,
  name: NULL_ARM,
  control: 'null',
});

/**
 * Rounds that hold the null arm, of `rounds` rounds: as many as asked for and there are, and an even number where there
 * are more, so that its place in the order balances.
 */
export function nullRoundsOf(asked: number, rounds: number): number {
  const even = asked + (asked % 2);
  return Math.min(even, rounds);
}

/**
 * Puts the null arm into the first `nullRounds` orders, next to the reference. In the first round of a pair it stands on the
 * reference's outer side, so that two arms stay adjacent; in the second round on the other side: `null base head`, `head base null`.
 */
export function withNullArm(
  rounds: readonly PlannedRound[],
  reference: string,
  nullRounds: number,
): PlannedRound[] {
  let before = true;
  return rounds.map(({ round, order }) => {
    if (round >= nullRounds) return { round, order };
    const at = order.indexOf(reference);
    before = round % 2 === 0 ? 2 * at < order.length : !before;
    const place = before ? at : at + 1;
    return { round, order: [...order.slice(0, place), NULL_ARM, ...order.slice(place)] };
  });
}
