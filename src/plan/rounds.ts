/** What a plan says about the rounds of an arm and the looks of a cell. Everything that counts rounds asks here. */
import type { Plan, PlannedCell } from './schema.js';

/** Rounds among the first `rounds` that launch an arm, in order. */
export const roundsWith = (plan: Pick<Plan, 'rounds'>, arm: string, rounds: number): number[] =>
  plan.rounds.flatMap(({ round, order }) => (round < rounds && order.includes(arm) ? [round] : []));

/** Launches of the first `rounds` rounds. */
export const launchesIn = (plan: Pick<Plan, 'rounds'>, rounds: number): number =>
  plan.rounds.reduce((sum, { round, order }) => (round < rounds ? sum + order.length : sum), 0);

/** Rounds of the look that a round is measured for: the next one after it. */
export const nextLook = ({ decision, rounds }: Pick<Plan, 'decision' | 'rounds'>, round: number): number =>
  decision.looks.find((look) => look > round) ?? rounds.length;

/** Looks of a cell: those of the plan up to the cell's cap. Each keeps the level that it has without a cap, which is stricter than needed. */
export const looksOf = (plan: Pick<Plan, 'decision'>, { cap }: Pick<PlannedCell, 'cap'>): number[] =>
  plan.decision.looks.filter((look) => cap === undefined || look <= cap);

/** Most rounds of a cell. */
export const capOf = (plan: Pick<Plan, 'decision'>, cell: Pick<PlannedCell, 'cap'>): number =>
  looksOf(plan, cell).at(-1) ?? 0;
