/** The whole analysis: for each cell and look, what was proved, what was not, and what the rates say. Decides nothing. */
import type { Entry } from '../journal/entries.js';
import { planDigest } from '../plan/build.js';
import { looksOf } from '../plan/rounds.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import type { ArmSummary } from '../verdict/schema.js';
import { type Coldness, coldnessOf } from './coldness.js';
import { type ComparisonAnalysis, compareArms } from './comparison.js';
import { missingOf } from './completeness.js';
import { contaminationOf, loadWarnings } from './contamination.js';
import { controlsAtLook, type LookControls } from './controls/at-look.js';
import { distinct, type Finding } from './finding.js';
import { floorWarnings, impossibleSpeeds } from './floor.js';
import { clockSetBackWarnings, resumeWarnings, splitRounds, tooManyLost } from './interruptions.js';
import { leftBehind } from './left-behind.js';
import { leverWarnings } from './levers.js';
import { loosenedLimits, unwatchedArms } from './loosened.js';
import { sameEngineWarnings } from './matching.js';
import { type Launch, launchesOf, type Observations, observe } from './observations.js';
import { clockWarnings, impossibleTimes } from './plausibility.js';
import type { Clock } from './rate.js';
import { retained, summaryOf } from './summary.js';
import { type SwitchWitness, switchWitnesses } from './switch-witness.js';
import { tooManyVoid, voidWarnings } from './void-rounds.js';
import { warmAcrossUnseen } from './warm-across.js';

/** A cell over the first `rounds` rounds. */
export interface LookAnalysis {
  rounds: number;
  /** What the plan asked for and the journal lacks; empty when the look can be taken. */
  missing: Finding[];
  coldness: Coldness;
  impossible: Finding[];
  contamination: Finding[];
  /** Arms that are compared; those that are controls are in `controls`. */
  comparisons: ComparisonAnalysis[];
  readonly warnings: Finding[];
  readonly arms: Record<string, ArmSummary>;
  readonly controls: LookControls;
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
  /** What shows that each switch of an ablation worked; empty in other sessions. */
  switchWitnesses: SwitchWitness[];
  /** Worth knowing of the session as a whole. */
  warnings: Finding[];
}

/** What the first `rounds` rounds hold for every cell alike. */
interface LookRounds {
  rounds: number;
  byArm: ReadonlyMap<string, readonly Launch[]>;
  launches: readonly Launch[];
  contamination: Finding[];
}

function lookRounds(plan: Plan, seen: Observations, rounds: number): LookRounds {
  const byArm = new Map(
    plan.arms.map(({ name }): [string, Launch[]] => [name, launchesOf(seen, name, rounds)]),
  );
  const launches = [...byArm.values()].flat();
  const contamination = [
    ...contaminationOf(plan, launches),
    ...leftBehind(launches),
    ...tooManyLost(plan, seen.lost, rounds),
    ...tooManyVoid(plan, seen.void, launches, rounds),
  ];
  return { rounds, byArm, launches, contamination };
}

function lookAt(
  plan: Plan,
  seen: Observations,
  cell: PlannedCell,
  { rounds, byArm, launches, contamination }: LookRounds,
): LookAnalysis {
  const { clock } = plan.protocol;
  const samples = retained(cell, launches);
  const against = plan.arms[0]?.name ?? '';
  const compared = plan.arms.slice(1).filter(({ control }) => control === undefined);
  const comparisons = compared.map(({ name: arm }) =>
    compareArms(plan, seen, cell, { arm, against }, rounds, (name) => byArm.get(name) ?? []),
  );
  // Of most looks nobody asks for these: they are told of the one that counts in the end.
  const arms = once(() => summariesOf(cell, byArm, clock));
  const controls = once(() => controlsAtLook(plan, seen, cell, rounds, comparisons));
  const warnings = once(() => [
    ...comparisons.flatMap(({ arm }) => sameEngineWarnings(plan, seen, arm, against)),
    ...comparisons.flatMap(({ arm }) => leverWarnings(plan, seen, arm, against)),
    ...clockWarnings(cell, samples),
    ...loadWarnings(plan, launches),
    ...warmAcrossUnseen(plan.protocol.warmups),
    ...floorWarnings(plan, launches),
  ]);
  return {
    rounds,
    missing: missingOf(plan, seen, cell, rounds),
    coldness: coldnessOf(cell, launches, clock, against, seen.voidFirst),
    impossible: [...impossibleTimes(cell, samples, clock), ...impossibleSpeeds(plan, cell, launches)],
    contamination,
    comparisons,
    get warnings() {
      return warnings();
    },
    get arms() {
      return arms();
    },
    get controls() {
      return controls();
    },
  };
}

/** What `make` gives, made when it is first asked for. */
function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function summariesOf(
  cell: PlannedCell,
  byArm: ReadonlyMap<string, readonly Launch[]>,
  clock: Clock,
): Record<string, ArmSummary> {
  const summaries = [...byArm].flatMap(([name, own]): [string, ArmSummary][] => {
    const summary = summaryOf(cell, own, clock);
    return summary === null ? [] : [[name, summary]];
  });
  return Object.fromEntries(summaries);
}

function cellAnalysis(
  plan: Plan,
  seen: Observations,
  cell: PlannedCell,
  known: Map<number, LookRounds>,
): CellAnalysis {
  const looks: LookAnalysis[] = [];
  for (const rounds of looksOf(plan, cell)) {
    const held = known.get(rounds) ?? lookRounds(plan, seen, rounds);
    known.set(rounds, held);
    const look = lookAt(plan, seen, cell, held);
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
  const known = new Map<number, LookRounds>();
  const failures = [...seen.failures, ...seen.launches.flatMap((launch) => launch.failures)];
  const broken = failures.filter((failure) => !interruption.test(failure.code));
  return {
    session: plan.session,
    planDigest: planDigest(plan),
    cells: plan.cells.map((cell) => cellAnalysis(plan, seen, cell, known)),
    failures: distinct(broken.map(({ code, message }) => ({ code: codeOf(code), message }))),
    interrupted: broken.length < failures.length,
    ended: seen.end?.complete === true,
    switchWitnesses: switchWitnesses(plan, seen),
    warnings: [
      ...loosenedLimits(plan),
      ...unwatchedArms(plan),
      ...resumeWarnings(entries),
      ...splitRounds(plan, entries),
      ...voidWarnings(plan, entries),
      ...clockSetBackWarnings(entries),
    ],
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
