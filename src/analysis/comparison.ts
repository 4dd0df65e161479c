/** One arm against the reference in one cell: whether it may be compared, and what the rounds say. */
import type { Plan, PlannedCell } from '../plan/schema.js';
import type { Control } from '../verdict/schema.js';
import { clockMismatches } from './clock-agreement.js';
import { orderReading, slotReading } from './controls/readings.js';
import { type LogEffect, logEffect } from './effect.js';
import type { Finding } from './finding.js';
import { isSameEngine, mismatchesOf } from './matching.js';
import type { Launch, Observations } from './observations.js';
import { type Parity, parityOf } from './parity.js';
import { comparedRounds } from './summary.js';

/** One arm against the reference, over the rounds of a look. */
export interface ComparisonAnalysis {
  arm: string;
  against: string;
  mismatches: Finding[];
  /** Both are one binary in one configuration: no difference between them is a change. */
  isSameEngine: boolean;
  parity: Parity;
  /** Null when no round has rates of both arms. */
  effect: LogEffect | null;
  /** Slot and order of these rounds; empty without an effect. */
  controls: Control[];
}

/** The names of the two arms of a comparison. */
interface Pair {
  arm: string;
  against: string;
}

/** Compares two arms over the first `rounds` rounds; `launches` are those of an arm in them. */
export function compareArms(
  plan: Plan,
  seen: Observations,
  cell: PlannedCell,
  { arm, against }: Pair,
  rounds: number,
  launches: (arm: string) => readonly Launch[],
): ComparisonAnalysis {
  const { clock } = plan.protocol;
  const [base, head] = [launches(against), launches(arm)];
  const compared = comparedRounds(cell, base, head, clock);
  const ratios = compared.map(({ ratio }) => ratio);
  const effect = ratios.length === 0 ? null : logEffect(ratios, plan.decision);
  return {
    arm,
    against,
    mismatches: [
      ...mismatchesOf(plan, seen, arm, against, rounds),
      ...clockMismatches(plan, cell, base, head),
    ],
    isSameEngine: isSameEngine(plan, seen, arm, against),
    parity: parityOf(plan, cell, base, head),
    effect,
    controls:
      effect === null
        ? []
        : [
            slotReading(cell, arm, compared, plan.decision.levelPerLook),
            orderReading(cell, arm, compared, effect, clock),
          ],
  };
}
