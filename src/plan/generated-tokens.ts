/** How many tokens a request generates: part of what the plan decides, so the session asks and `verify` checks by it. */
import type { Plan, PlannedCell, Prompt } from './schema.js';

/** Tokens that a request for a prompt of this kind generates. Parity needs outputs long enough to prove something. */
export const generatedTokens = (plan: Plan, cell: PlannedCell, kind: Prompt['kind']): number =>
  kind === 'parity'
    ? Math.max(cell.generatedTokens, plan.protocol.minimumOutputTokens)
    : cell.generatedTokens;
