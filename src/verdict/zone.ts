/** The decision rule `zone-v1`: where the bounds lie against no change and against the budget. */
import type { LogEffect } from '../analysis/effect.js';

export type Decision =
  | { verdict: 'pass'; detail: 'improved' | 'neutral' | 'slower-in-budget' }
  /** Of an ablation: everything is proved, and no budget is judged. */
  | { verdict: 'pass'; detail: 'measured' }
  | { verdict: 'fail'; detail: 'beyond-budget' | 'slower-not-cleared' }
  | { verdict: 'inconclusive'; detail: null };

/** `marginPercent` as a log ratio: ln(1 - m), below zero. */
export const logMargin = (marginPercent: number): number => Math.log1p(-marginPercent / 100);

/**
 * Decides one comparison at one look, or returns null when more rounds may decide and `last` is false. Bounds on the
 * margin itself decide nothing.
 */
export function decide(
  effect: Pick<LogEffect, 'deciding'>,
  marginPercent: number,
  last: boolean,
): Decision | null {
  const margin = logMargin(marginPercent);
  const bounds = effect.deciding;
  if (bounds !== null && bounds.lower > margin) {
    if (bounds.lower > 0) return { verdict: 'pass', detail: 'improved' };
    return { verdict: 'pass', detail: bounds.upper < 0 ? 'slower-in-budget' : 'neutral' };
  }
  if (bounds !== null && bounds.upper < margin) return { verdict: 'fail', detail: 'beyond-budget' };
  if (!last) return null;
  if (bounds !== null && bounds.upper < 0) return { verdict: 'fail', detail: 'slower-not-cleared' };
  return { verdict: 'inconclusive', detail: null };
}

/** No decision rests on an effect that the order of launches speaks against: more rounds are asked for, and the last look is undecided. */
export function unlessContradicted(
  decision: Decision | null,
  isContradicted: boolean,
  last: boolean,
): Decision | null {
  if (decision === null || !isContradicted) return decision;
  return last ? { verdict: 'inconclusive', detail: null } : null;
}
