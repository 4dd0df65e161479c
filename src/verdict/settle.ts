/** Walks the looks of a cell: where it stopped, and whether more rounds are wanted. */
import { type Analysis, analyse, type CellAnalysis, type LookAnalysis } from '../analysis/analyse.js';
import type { ComparisonAnalysis } from '../analysis/comparison.js';
import type { Entry } from '../journal/entries.js';
import { capOf } from '../plan/rounds.js';
import type { Plan } from '../plan/schema.js';
import { contradictedByOrder } from './controls.js';
import { type Refusal, refusalsOf } from './refusal.js';
import { type Decision, decide, unlessContradicted } from './zone.js';

export interface SettledComparison {
  arm: string;
  against: string;
  refusals: Refusal[];
  /** Null when refused. */
  decision: Decision | null;
  /** The look whose effect decided. */
  look: LookAnalysis;
}

export interface SettledCell {
  /** The last look that counts: its rounds are the rounds of the cell. */
  look: LookAnalysis;
  comparisons: SettledComparison[];
  /** The last complete look did not decide, and the plan has a further one. */
  open: boolean;
}

/** Decision of each comparison at the first look that decides it; undefined while none does. */
type Decided = Map<string, { decision: Decision; look: LookAnalysis }>;

/**
 * The zone rule, unless the order of launches speaks against the effect that it would decide by. An ablation decides nothing: it
 * is measured to its end.
 */
function decideComparison(
  plan: Plan,
  comparison: ComparisonAnalysis,
  marginPercent: number,
  last: boolean,
): Decision | null {
  if (comparison.effect === null) return null;
  if (plan.design !== undefined) return last ? { verdict: 'pass', detail: 'measured' } : null;
  const decision = decide(comparison.effect, marginPercent, last);
  return unlessContradicted(decision, contradictedByOrder(comparison), last);
}

function decideAt(
  plan: Plan,
  analysis: Analysis,
  { cell }: CellAnalysis,
  look: LookAnalysis,
  decided: Decided,
): boolean {
  const last = look.rounds === capOf(plan, cell);
  let open = false;
  for (const comparison of look.comparisons) {
    if (decided.has(comparison.arm) || refusalsOf(analysis, look, comparison).length > 0) continue;
    const decision = decideComparison(plan, comparison, cell.marginPercent, last);
    if (decision === null) open = true;
    else decided.set(comparison.arm, { decision, look });
  }
  return open;
}

/** Settles a cell. A decision stands from the first look that makes it; refusals are those of the last look that counts. */
export function settle(plan: Plan, analysis: Analysis, cellAnalysis: CellAnalysis): SettledCell {
  const decided: Decided = new Map();
  let counted: LookAnalysis | undefined;
  let open = false;
  for (const look of cellAnalysis.looks) {
    counted = look;
    if (look.missing.length > 0) break;
    open = decideAt(plan, analysis, cellAnalysis, look, decided);
    if (!open) break;
  }
  if (counted === undefined) throw new RangeError(`cell ${cellAnalysis.cell.id} has no look`);
  const look = counted;
  const comparisons = look.comparisons.map((comparison): SettledComparison => {
    const refusals = refusalsOf(analysis, look, comparison);
    const own = decided.get(comparison.arm);
    const { arm, against } = comparison;
    return {
      arm,
      against,
      refusals,
      decision: refusals.length > 0 ? null : (own?.decision ?? null),
      look: own?.look ?? look,
    };
  });
  return { look, comparisons, open };
}

/**
 * Ids of the cells that go on after a look: proved, complete so far, and not decided. Empty when the session is over.
 * The session asks after each look; `verify` asks again with the same entries.
 */
export function undecidedCells(plan: Plan, entries: readonly Entry[]): string[] {
  const analysis = analyse(plan, entries);
  return analysis.cells.flatMap((cell) => (settle(plan, analysis, cell).open ? [cell.cell.id] : []));
}

/**
 * What `undecidedCells` gave at the look after `rounds`, from the analysis of a journal that went on. It is the same while nothing that
 * was written after a look is of a launch, a build or a model before it, which `verify` has checked by then.
 */
export function undecidedAfter(plan: Plan, analysis: Analysis, rounds: number): string[] {
  return analysis.cells.flatMap((cell) => {
    const looks = cell.looks.filter((look) => look.rounds <= rounds);
    return looks.length > 0 && settle(plan, analysis, { ...cell, looks }).open ? [cell.cell.id] : [];
  });
}
