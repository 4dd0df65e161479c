/** The whole analysis: for each cell and look, what was proved, what was not, and what the rates say. Decides nothing. */
import type { Entry } from '../journal/entries.js';
import { planDigest } from '../plan/build.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import type { ArmSummary } from '../verdict/schema.js';
import { clockMismatches } from './clock-agreement.js';
import { type Coldness, coldnessOf } from './coldness.js';
import { missingOf } from './completeness.js';
import { contaminationOf, loadWarnings } from './contamination.js';
import { type LogEffect, logEffect } from './effect.js';
import { distinct, type Finding } from './finding.js';
import { clockSetBackWarnings, resumeWarnings, tooManyLost } from './interruptions.js';
import { mismatchesOf, sameEngineWarnings } from './matching.js';
import { type Launch, launchesOf, type Observations, observe } from './observations.js';
import { type Parity, parityOf } from './parity.js';
import { clockWarnings, impossibleTimes } from './plausibility.js';
import { logRatios, retained, summaryOf } from './summary.js';

/** One arm against the reference, over the rounds of a look. */
export interface ComparisonAnalysis {
  arm: string;
  against: string;
  mismatches: Finding[];
  parity: Parity;
  /** Null when no round has rates of both arms. */
  effect: LogEffect | null;
}

/** A cell over the first `rounds` rounds. */
export interface LookAnalysis {
  rounds: number;
  /** What the plan asked for and the journal lacks; empty when the look can be taken. */
  missing: Finding[];
  coldness: Coldness;
  impossible: Finding[];
  contamination: Finding[];
  warnings: Finding[];
  arms: Record<string, ArmSummary>;
  comparisons: ComparisonAnalysis[];
}

export interface CellAnalysis {
  cell: PlannedCell;
  /** Looks in order, up to the first that is incomplete, that one included. Never empty. */
  looks: LookAnalysis[];
}

export interface Analysis {
  session: string;
  planDigest: string;
  cells: CellAnalysis[];
  /** Something of the machinery failed: a build, a launch, a time-out. */
  failures: Finding[];
  /** The session stopped because it was told to. */
  interrupted: boolean;
  /** The journal has its last line. */
  ended: boolean;
  /** Worth knowing of the session as a whole. */
  warnings: Finding[];
}

function lookAt(plan: Plan, seen: Observations, cell: PlannedCell, rounds: number): LookAnalysis {
  const { clock } = plan.protocol;
  const byArm = new Map(
    plan.arms.map(({ name }): [string, Launch[]] => [name, launchesOf(seen, name, rounds)]),
  );
  const launches = [...byArm.values()].flat();
  const samples = retained(cell, launches);
  const arms = [...byArm].flatMap(([name, own]): [string, ArmSummary][] => {
    const summary = summaryOf(cell, own, clock);
    return summary === null ? [] : [[name, summary]];
  });
  const [reference, ...others] = plan.arms.map((arm) => arm.name);
  const comparisons = others.map((arm): ComparisonAnalysis => {
    const against = reference ?? arm;
    const [base, head] = [byArm.get(against) ?? [], byArm.get(arm) ?? []];
    const ratios = logRatios(cell, base, head, clock);
    return {
      arm,
      against,
      mismatches: [
        ...mismatchesOf(plan, seen, arm, against, rounds),
        ...clockMismatches(cell, base, head, clock),
      ],
      parity: parityOf(plan, cell, base, head),
      effect: ratios.length === 0 ? null : logEffect(ratios, plan.decision),
    };
  });
  return {
    rounds,
    missing: missingOf(plan, seen, cell, rounds),
    coldness: coldnessOf(cell, launches),
    impossible: impossibleTimes(cell, samples, clock),
    contamination: [...contaminationOf(launches, clock), ...tooManyLost(plan, seen.lost, rounds)],
    warnings: [
      ...comparisons.flatMap(({ arm, against }) => sameEngineWarnings(plan, seen, arm, against)),
      ...clockWarnings(cell, samples),
      ...loadWarnings(launches, clock),
    ],
    arms: Object.fromEntries(arms),
    comparisons,
  };
}

function cellAnalysis(plan: Plan, seen: Observations, cell: PlannedCell): CellAnalysis {
  const looks: LookAnalysis[] = [];
  for (const rounds of plan.decision.looks) {
    const look = lookAt(plan, seen, cell, rounds);
    looks.push(look);
    if (look.missing.length > 0) break;
  }
  return { cell, looks };
}

/** A failure entry with this ending says that the user stopped the session, not that something broke. */
const interruption = /INTERRUPTED$/;

/** Analyses a journal against its plan. Pure: the same plan and entries give the same analysis anywhere. */
export function analyse(plan: Plan, entries: readonly Entry[]): Analysis {
  const seen = observe(entries);
  const failures = [...seen.failures, ...seen.launches.flatMap((launch) => launch.failures)];
  const broken = failures.filter((failure) => !interruption.test(failure.code));
  return {
    session: plan.session,
    planDigest: planDigest(plan),
    cells: plan.cells.map((cell) => cellAnalysis(plan, seen, cell)),
    failures: distinct(broken.map(({ code, message }) => ({ code: codeOf(code), message }))),
    interrupted: broken.length < failures.length,
    ended: seen.end?.complete === true,
    warnings: [...resumeWarnings(entries), ...clockSetBackWarnings(entries)],
  };
}

/** `ERR_QUALIFY_BUILD_FAILED` as the code of a reason: `build-failed`. */
function codeOf(code: string): string {
  const plain = code
    .replace(/^ERR_QUALIFY_/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '');
  return plain === '' ? 'failure' : plain;
}
