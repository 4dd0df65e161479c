/** How many likely ids a request asks for: part of what the plan decides, as `generated-tokens.ts`. */
import type { Plan } from './schema.js';

/** Enough to see more than the best id, few enough that their log-probabilities are above what rounding leaves. */
const LIKELIEST = 10;

/** Ids a position to be named with their log-probabilities; parity `bounded` compares them, no other level asks. */
export const askedProbabilities = (plan: Pick<Plan, 'protocol'>): number =>
  plan.protocol.parity === 'bounded' ? LIKELIEST : 0;
