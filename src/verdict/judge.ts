/** From analysis to verdict: refusals before statistics, the zone rule, claims by Holm, the exit code. */

import type { Analysis, LookAnalysis } from '../analysis/analyse.js';
import {
  fewestRounds,
  type LogEffect,
  type LogInterval,
  minimumDetectablePercent,
  roundsStillNeeded,
} from '../analysis/effect.js';
import { distinct, type Finding, finding } from '../analysis/finding.js';
import { counted } from '../counted.js';
import { capOf } from '../plan/rounds.js';
import type { Plan } from '../plan/schema.js';
import { ablationOf, ablationReasons, ablationWarning } from './ablation.js';
import { controlsOf, controlWarnings, leverReasons, orderReason } from './controls.js';
import { exitCodeOf } from './exit-code.js';
import { explain } from './explain.js';
import { withoutFalseAlarm } from './false-alarm.js';
import { holm } from './holm.js';
import { plantedReasons } from './planted.js';
import { worstOf } from './refusal.js';
import { rounded } from './rounded.js';
import {
  type CellVerdict,
  type Comparison,
  type Control,
  type Effect,
  type Verdict,
  verdictSchema,
} from './schema.js';
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
    minimumDetectablePercent: minimumDetectablePercent(effect),
    roundsStillNeeded: settled ? null : roundsStillNeeded(effect, logMargin(marginPercent)),
  };
}

const comparisonAt = (look: LookAnalysis, arm: string): LookAnalysis['comparisons'][number] | undefined =>
  look.comparisons.find((comparison) => comparison.arm === arm);

function comparisonVerdict(cell: SettledCell, settled: SettledComparison, marginPercent: number): Comparison {
  const { arm, against, refusals } = settled;
  const parity = comparisonAt(cell.look, arm)?.parity;
  const deciding = comparisonAt(settled.look, arm);
  const effect = deciding?.effect ?? null;
  if (parity === undefined) throw new RangeError(`arm ${arm} was not analysed`);
  const { reasons: _told, ...summary } = parity;
  const common = { arm, against, parity: summary };
  const { decision } = settled;
  if (decision === null || effect === null) {
    const verdict = worstOf(refusals.map((refusal) => refusal.verdict));
    const reasons = distinct(refusals.flatMap((refusal) => refusal.reasons));
    return { ...common, verdict, detail: null, reasons, effect: null };
  }
  const shown = effectOf(effect, decision, marginPercent);
  const order = deciding === undefined ? [] : orderReason(deciding);
  if (decision.verdict === 'inconclusive' && order.length > 0) {
    // More rounds of such a machine would not settle it.
    const unsettled = { ...shown, roundsStillNeeded: null };
    return { ...common, ...decision, reasons: order, effect: unsettled };
  }
  return { ...common, ...decision, reasons: explain(effect, decision, marginPercent), effect: shown };
}

/** "Improved" by switches stands only where turning them off takes the gain away. */
function withoutLeverlessGain(plan: Plan, settled: SettledComparison, comparison: Comparison): Comparison {
  if (comparison.detail !== 'improved') return comparison;
  const reasons = leverReasons(plan, settled.look, settled.arm);
  return reasons.length === 0 ? comparison : { ...comparison, detail: 'neutral', reasons };
}

/** What these rounds could see is told of everything but what they saw to be better. */
const withoutNeedlessLimits = (cell: CellVerdict): CellVerdict => ({
  ...cell,
  comparisons: cell.comparisons.map((comparison) =>
    comparison.detail !== 'improved' || comparison.effect === null
      ? comparison
      : { ...comparison, effect: { ...comparison.effect, minimumDetectablePercent: null } },
  ),
});

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

/** What differs between an engine and itself is neither a slowdown nor a gain. */
function withoutFalseAlarms(cell: CellVerdict, { look }: SettledCell): CellVerdict {
  const comparisons = cell.comparisons.map((comparison) =>
    comparisonAt(look, comparison.arm)?.isSameEngine === true ? withoutFalseAlarm(comparison) : comparison,
  );
  return { ...cell, comparisons, verdict: worstOf(comparisons.map(({ verdict }) => verdict)) };
}

function cellVerdict(plan: Plan, analysis: Analysis['cells'][number], settled: SettledCell): CellVerdict {
  const { id, promptTokens, chunk, phase, generatedTokens, required, marginPercent } = analysis.cell;
  const comparisons = settled.comparisons.map((comparison) =>
    withoutLeverlessGain(plan, comparison, comparisonVerdict(settled, comparison, marginPercent)),
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

/** Cells that cannot pass, whatever they show. */
const smallCells = (plan: Plan): Plan['cells'] =>
  plan.cells.filter((cell) => capOf(plan, cell) < fewestRounds);

function fewRounds(plan: Plan): Finding[] {
  const [first, ...others] = smallCells(plan);
  if (first === undefined) return [];
  const cap = capOf(plan, first);
  const rounds = counted(cap, 'round');
  const message =
    others.length + 1 === plan.cells.length
      ? `the plan has ${rounds}: no cell can pass below ${fewestRounds}`
      : `${[first, ...others].map(({ id }) => id).join(', ')} cannot pass: capped below ${fewestRounds} rounds`;
  return [finding('few-rounds', message)];
}

function warningsOf(
  plan: Plan,
  cells: readonly CellVerdict[],
  settled: readonly SettledCell[],
  controls: readonly Control[][],
): Finding[] {
  const seen = settled.flatMap((cell) => cell.look.warnings);
  const optional = cells
    .filter((cell) => !cell.required && cell.verdict !== 'pass')
    .map((cell) => finding('optional-cell', `${cell.id}: not required, and did not pass: ${cell.verdict}`));
  const told = plan.cells.flatMap(({ id }, index) => controlWarnings(plan, id, controls[index] ?? []));
  const few = plan.design === undefined ? fewRounds(plan) : [ablationWarning];
  const madeUp = plan.simulation
    ? [finding('simulated', 'nothing was measured: every rate is made up by a noise model')]
    : [];
  return distinct([...madeUp, ...few, ...optional, ...seen, ...told]);
}

/** The verdict that follows from plan and analysis by rule. Numbers are rounded to ten significant digits. */
export function judge(plan: Plan, analysis: Analysis): Verdict {
  const settled = analysis.cells.map((cell) => settle(plan, analysis, cell));
  const judged = analysis.cells.flatMap((cell, index) => {
    const own = settled[index];
    return own === undefined ? [] : [cellVerdict(plan, cell, own)];
  });
  const claimed = withoutUnsoundClaims(judged, settled, plan.decision.levelPerLook);
  const cells = claimed.map((cell, index) => {
    const own = settled[index];
    return withoutNeedlessLimits(own === undefined ? cell : withoutFalseAlarms(cell, own));
  });
  const controls = settled.map(controlsOf);
  const required = cells.filter((cell) => cell.required);
  const session = sessionReasons(analysis);
  const unqualified = [...narrowedReasons(plan), ...plantedReasons(plan, cells)];
  const ablation = ablationOf(plan, cells, analysis.switchWitnesses);
  // A session that ended early lacks witnesses for that reason alone.
  const unwitnessed = session.verdict === 'pass' ? ablationReasons(ablation) : [];
  const result = worstOf([
    session.verdict,
    ...required.map((cell) => cell.verdict),
    ...(unqualified.length > 0 ? (['inconclusive'] as const) : []),
    ...(unwitnessed.length > 0 ? (['unmatched'] as const) : []),
  ]);
  return verdictSchema.parse(
    rounded({
      schemaVersion: 1,
      session: plan.session,
      matrix: plan.matrix,
      planDigest: analysis.planDigest,
      clock: plan.protocol.clock,
      protocol: smallCells(plan).some(({ required }) => required) ? 'small' : 'full',
      result,
      exitCode: exitCodeOf(result),
      reasons: distinct([
        ...session.reasons,
        ...unqualified,
        ...unwitnessed,
        ...required.flatMap(cellReasons),
      ]),
      warnings: [...analysis.warnings, ...warningsOf(plan, cells, settled, controls)],
      cells,
      controls: controls.flat(),
      ...(ablation !== undefined && { ablation }),
    }),
  );
}
