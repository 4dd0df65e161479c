/** The protected cells of the runs that count, each as its worst run has it, losing cell first. Pure. */
import { worseFirst } from '../verdict/refusal.js';
import type { VerdictName } from '../verdict/schema.js';
import { type GateCell, type GateResult, gateResults } from './decision.js';
import type { VerifiedRun } from './input.js';
import { comparisonsOf, protectedCells } from './judge-requirement.js';
import { STAYS } from './judge-run.js';
import type { Requirement } from './policy.js';
import { changesOf } from './run-subject.js';

/** A run that a requirement rests on: where it is in the evidence, and which of its arms are the change. */
export interface CountingRun {
  index: number;
  run: VerifiedRun;
  arms: readonly string[];
  /** It counts with what failed in it only. */
  isOnlyAgainst: boolean;
}

/** What a verdict is to a gate: everything beside the three that were measured is a refusal. */
export const gateResultOf = (verdict: VerdictName): GateResult =>
  verdict === 'pass' || verdict === 'inconclusive' || verdict === 'fail' ? verdict : 'refused';

/** The worst of some results; `pass` when there are none. */
export const worstResult = (results: readonly GateResult[]): GateResult =>
  results.reduce<GateResult>(
    (worst, next) => (gateResults.indexOf(next) > gateResults.indexOf(worst) ? next : worst),
    'pass',
  );

/** Negative when `a` is the worse: verdict first, then the slower, then as they come. */
const losingFirst = (a: GateCell, b: GateCell): number =>
  gateResults.indexOf(b.result) - gateResults.indexOf(a.result) ||
  worseFirst(a.verdict, b.verdict) ||
  (a.deltaPercent ?? Number.NEGATIVE_INFINITY) - (b.deltaPercent ?? Number.NEGATIVE_INFINITY) ||
  0;

/** One entry a cell, the worst of all runs, before any waiver. */
export function worstCells(runs: readonly CountingRun[], requirement: Requirement): GateCell[] {
  const worst = new Map<string, GateCell>();
  for (const cell of runs.flatMap((counting) => cellsOf(counting, requirement))) {
    const known = worst.get(cell.id);
    if (known === undefined || losingFirst(cell, known) < 0) worst.set(cell.id, cell);
  }
  return [...worst.values()].toSorted(losingFirst);
}

export const sortCells = (cells: readonly GateCell[]): GateCell[] => cells.toSorted(losingFirst);

function cellsOf({ index, run, arms, isOnlyAgainst }: CountingRun, requirement: Requirement): GateCell[] {
  const others = changesOf(run.statement).map(({ name }) => name);
  return protectedCells(run, requirement).flatMap((cell) => {
    if (isOnlyAgainst && !STAYS.includes(cell.verdict)) return [];
    const comparisons = comparisonsOf(cell, arms, others);
    const [first] = comparisons.toSorted(
      (a, b) => worseFirst(a.verdict, b.verdict) || (a.effect?.ratio ?? 0) - (b.effect?.ratio ?? 0),
    );
    if (first === undefined) return [];
    const { effect, arm, against, verdict, detail, reasons } = first;
    const shown = effect === null ? null : { arm, against };
    const percent = (ratio: number | null | undefined): number | null =>
      ratio === null || ratio === undefined ? null : 100 * (ratio - 1);
    const { id, promptTokens, chunk, phase, marginPercent } = cell;
    return [
      {
        ...{ run: index, id, promptTokens, chunk, phase, result: gateResultOf(verdict), verdict, detail },
        arm: shown?.arm ?? null,
        against: shown?.against ?? null,
        baseMedian: shown === null ? null : (cell.arms[against]?.median ?? null),
        headMedian: shown === null ? null : (cell.arms[arm]?.median ?? null),
        deltaPercent: effect?.deltaPercent ?? null,
        lowerPercent: percent(effect?.lower),
        upperPercent: percent(effect?.upper),
        marginPercent,
        rounds: effect?.rounds ?? 0,
        waiver: null,
        reasons,
      },
    ];
  });
}
