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
 * are more, so that it follows every arm equally often in a comparison of two.
 */
export function nullRoundsOf(asked: number, rounds: number): number {
  const even = asked + (asked % 2);
  return Math.min(even, rounds);
}

/** Puts the null arm into the first `nullRounds` orders, after all others, so that what its launch costs falls on no comparison. */
export const withNullArm = (rounds: readonly PlannedRound[], nullRounds: number): PlannedRound[] =>
  rounds.map(({ round, order }) => ({ round, order: round < nullRounds ? [...order, NULL_ARM] : order }));
