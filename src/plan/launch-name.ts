/** What launches are called: by their place in the plan, and by which attempt at that place they are. */
import type { Plan } from './schema.js';

/** Which launch of the plan. */
export interface Place {
  round: number;
  /** 0 for the first launch of the round. */
  position: number;
  arm: string;
}

/** Every launch of a plan in its order. */
export const placesOf = ({ rounds }: Pick<Plan, 'rounds'>): Place[] =>
  rounds.flatMap(({ round, order }) => order.map((arm, position) => ({ round, position, arm })));

/** `r03-0-base`, and `r03-0-base.2` for the launch that repeats it. */
export const launchName = ({ round, position, arm }: Place, attempt = 1): string =>
  `r${String(round).padStart(2, '0')}-${position}-${arm}${attempt === 1 ? '' : `.${attempt}`}`;

/** Round and position that a name of `launchName` stands for. Null for another text. */
export function placeOfName(name: string): { round: number; position: number } | null {
  const [, round, position] = /^r(\d+)-(\d+)-/.exec(name) ?? [];
  return round === undefined || position === undefined
    ? null
    : { round: Number(round), position: Number(position) };
}
