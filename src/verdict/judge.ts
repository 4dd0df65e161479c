/** From analysis to verdict: refusals before statistics, the zone rule, claims by Holm, the exit code. */
import type { Analysis, LookAnalysis } from '../analysis/analyse.js';
import {
  type LogEffect,
  type LogInterval,
  minimumDetectablePercent,
  roundsStillNeeded,
} from '../analysis/effect.js';
import { distinct, type Finding, finding } from '../analysis/finding.js';
import type { Plan } from '../plan/schema.js';
import { exitCodeOf } from './exit-code.js';
import { explain } from './explain.js';
import { holm } from './holm.js';
import { worstOf } from './refusal.js';
import { rounded } from './rounded.js';
import { type CellVerdict, type Comparison, type Effect, type Verdict, verdictSchema } from './schema.js';
import { type SettledCell, type SettledComparison, settle } from './settle.js';
import { type Decision, logMargin } from './zone.js';

const asRatios = (bounds: LogInterval | null): { lower: number; upper: number } | null =>
  bounds === null ? null : { lower: Math.exp(bounds.lower), upper: Math.exp(bounds.upper) };

function effectOf(effect: LogEffect, decision: Decision, marginPercent: number): Effect {
  const bounds = asRatios(effect.deciding);
  const settled = decision.verdict === 'pass' || decision.detail === 'beyond-budget';
  return {
    deltaPercent: 100 * Math.expm1(effect.centre),
    ratio: Math.exp(effect.centre),
    lower: bounds?.lower ?? null,
    upper: bounds?.upper ?? null,
    level: bounds === null ? null : 1 - effect.level,
    rounds: effect.perRound.length,
    perRound: effect.perRound,
    t: asRatios(effect.t),
    walsh: asRatios(effect.walsh),
    minimumDetectablePercent: decision.detail === 'improved' ? null : minimumDetectablePercent(effect),
    roundsStillNeeded: settled ? null : roundsStillNeeded(effect, logMargin(marginPercent)),
  };
}

const comparisonAt = (look: LookAnalysis, arm: string): LookAnalysis['comparisons'][number] | undefined =>
  look.comparisons.find((comparison) => comparison.arm === arm);

function comparisonVerdict(cell: SettledCell, settled: SettledComparison, marginPercent: number): Comparison {
  const { arm, against, refusals } = settled;
  const parity = comparisonAt(cell.look, arm)?.parity;
  const effect = comparisonAt(settled.look, arm)?.effect ?? null;
  if (parity === undefined) throw new RangeError(`arm ${arm} was not analysed`);
  const { reasons: _told, ...summary } = parity;
  const common = { arm, against, parity: summary };
  const { decision } = settled;
  if (decision === null || effect === null) {
    const verdict = worstOf(refusals.map((refusal) => refusal.verdict));
    const reasons = distinct(refusals.flatMap((refusal) => refusal.reasons));
    return { ...common, verdict, detail: null, reasons, effect: null };
  }
  return {
    ...common,
    verdict: decision.verdict,
    detail: decision.detail,
    reasons: explain(effect, decision, marginPercent),
    effect: effectOf(effect, decision, marginPercent),
  };
}

/** "Improved" is a claim beside other claims: it stands only by Holm over all comparisons that have an effect. */
function withoutUnsoundClaims(
  cells: CellVerdict[],
  settled: readonly SettledCell[],
  level: number,
): CellVerdict[] {
  const claims = settled.flatMap((cell, index) =>
    cell.comparisons.flatMap(({ arm, look, decision }) => {
      const effect = comparisonAt(look, arm)?.effect;
      return decision === null || !effect ? [] : [{ index, arm, p: effect.improvedP }];
    }),
  );
  const stands = holm(
    claims.map((claim) => claim.p),
    level,
  );
  const unsound = new Set(
    claims.flatMap(({ index, arm }, i) => (stands[i] === true ? [] : [`${index}:${arm}`])),
  );
  return cells.map((cell, index) => ({
    ...cell,
    comparisons: cell.comparisons.map((comparison) => {
      if (comparison.detail !== 'improved' || !unsound.has(`${index}:${comparison.arm}`)) return comparison;
      const message = 'faster in itself, but not beyond what so many comparisons give by chance (Holm)';
      return { ...comparison, detail: 'neutral', reasons: [finding('improvement-not-claimed', message)] };
    }),
  }));
}

function cellVerdict(analysis: Analysis['cells'][number], settled: SettledCell): CellVerdict {
  const { id, promptTokens, chunk, phase, generatedTokens, required, marginPercent } = analysis.cell;
  const comparisons = settled.comparisons.map((comparison) =>
    comparisonVerdict(settled, comparison, marginPercent),
  );
  const shown = new Set(
    comparisons.flatMap(({ effect, arm, against }) => (effect === null ? [] : [arm, against])),
  );
  return {
    id,
    promptTokens,
    chunk,
    phase,
    generatedTokens,
    required,
    marginPercent,
    verdict: worstOf(comparisons.map((comparison) => comparison.verdict)),
    coldness: settled.look.coldness,
    arms: Object.fromEntries(Object.entries(settled.look.arms).filter(([name]) => shown.has(name))),
    comparisons,
  };
}

/** The session itself as a reason: a journal without its last line is no session, whatever its cells say. */
function sessionReasons(analysis: Analysis): { verdict: Verdict['result']; reasons: Finding[] } {
  if (analysis.ended) return { verdict: 'pass', reasons: [] };
  if (analysis.failures.length > 0) return { verdict: 'infrastructure', reasons: analysis.failures };
  const code = analysis.interrupted ? 'interrupted' : 'session-incomplete';
  return { verdict: 'not-measured', reasons: [finding(code, 'the session did not reach its end')] };
}

/** A run that was told to leave cells out says something about those it has, and nothing about the matrix. */
function narrowedReasons({ leftOut, matrix }: Plan): Finding[] {
  if (leftOut === undefined) return [];
  const message = `narrowed to some cells: without ${leftOut.join(', ')} this is no qualification by ${matrix.name}`;
  return [finding('narrowed', message)];
}

function cellReasons(cell: CellVerdict): Finding[] {
  return cell.comparisons
    .filter((comparison) => comparison.verdict !== 'pass')
    .flatMap(({ arm, against, reasons }) =>
      reasons.map(({ code, message }) => finding(code, `${cell.id}, ${arm} against ${against}: ${message}`)),
    );
}

function warningsOf(plan: Plan, cells: readonly CellVerdict[], settled: readonly SettledCell[]): Finding[] {
  const seen = settled.flatMap((cell) => cell.look.warnings);
  const optional = cells
    .filter((cell) => !cell.required && cell.verdict !== 'pass')
    .map((cell) => finding('optional-cell', `${cell.id} is not required and did not pass: ${cell.verdict}`));
  const cap = plan.decision.looks.at(-1) ?? 0;
  const few = cap < 6 ? [finding('few-rounds', `the plan has ${cap} rounds: no cell can pass below 6`)] : [];
  const madeUp = plan.simulation
    ? [finding('simulated', 'nothing was measured: every rate is made up by a noise model')]
    : [];
  return distinct([...madeUp, ...few, ...optional, ...seen]);
}

/** The verdict that follows from plan and analysis by rule. Numbers are rounded to ten significant digits. */
export function judge(plan: Plan, analysis: Analysis): Verdict {
  const settled = analysis.cells.map((cell) => settle(plan, analysis, cell));
  const judged = analysis.cells.flatMap((cell, index) => {
    const own = settled[index];
    return own === undefined ? [] : [cellVerdict(cell, own)];
  });
  const cells = withoutUnsoundClaims(judged, settled, plan.decision.levelPerLook);
  const required = cells.filter((cell) => cell.required);
  const session = sessionReasons(analysis);
  const narrowed = narrowedReasons(plan);
  const result = worstOf([
    session.verdict,
    ...required.map((cell) => cell.verdict),
    ...(narrowed.length > 0 ? (['inconclusive'] as const) : []),
  ]);
  return verdictSchema.parse(
    rounded({
      schemaVersion: 1,
      session: plan.session,
      matrix: plan.matrix,
      planDigest: analysis.planDigest,
      clock: plan.protocol.clock,
      result,
      exitCode: exitCodeOf(result),
      reasons: distinct([...session.reasons, ...narrowed, ...required.flatMap(cellReasons)]),
      warnings: warningsOf(plan, cells, settled),
      cells,
      controls: [],
    }),
  );
}
