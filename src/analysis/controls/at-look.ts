/** The controls of a cell at a look: the arms that check the session, and what they and the launches read. */
import type { Plan, PlannedCell } from '../../plan/schema.js';
import type { Control } from '../../verdict/schema.js';
import { type ComparisonAnalysis, compareArms } from '../comparison.js';
import { type Finding, finding } from '../finding.js';
import { type Launch, launchesOf, type Observations } from '../observations.js';
import { leverOffReading, nullReading, type Proof, warmUpReading } from './readings.js';

export interface LookControls {
  /** The null arm against the reference over the rounds that hold it; null when none does. */
  nullArm: ComparisonAnalysis | null;
  /** Each lever-off arm against the reference. */
  leverOff: ComparisonAnalysis[];
  /** Null arm, lever-off arms and warm-ups. */
  readings: Control[];
}

/** The first proof that a comparison lacks; undefined when it has all. */
const missingProof = ({ mismatches, parity: { status, reasons } }: ComparisonAnalysis): Finding | undefined =>
  mismatches[0] ??
  (status === 'identical' || status === 'within'
    ? undefined
    : (reasons[0] ?? finding('no-pairs', 'no prompt was answered by both arms')));

const proofOf = (comparison: ComparisonAnalysis): Proof => {
  const lacks = missingProof(comparison);
  return lacks === undefined ? { perRound: comparison.effect?.perRound ?? [] } : { lacks };
};

/** Reads the controls of a cell over its first `rounds` rounds, in which `comparisons` compare its arms. */
export function controlsAtLook(
  plan: Plan,
  seen: Observations,
  cell: PlannedCell,
  rounds: number,
  comparisons: readonly ComparisonAnalysis[],
): LookControls {
  const launches = (arm: string): Launch[] => launchesOf(seen, arm, rounds);
  const level = plan.decision.levelPerLook;
  const against = plan.arms[0]?.name ?? '';
  const armsOf = (control: 'null' | 'lever-off'): string[] =>
    plan.arms.filter((arm) => arm.control === control).map(({ name }) => name);
  // The reference is held to the rounds of the null arm: parity compares the answers of the same rounds.
  const ofNullRounds = (name: string) => (arm: string) => {
    const own = new Set(launches(name).map(({ round }) => round));
    return launches(arm).filter(({ round }) => own.has(round));
  };
  const [nullArm = null] = armsOf('null').map((arm) =>
    compareArms(plan, seen, cell, { arm, against }, rounds, ofNullRounds(arm)),
  );
  const leverOff = armsOf('lever-off').map((arm) =>
    compareArms(plan, seen, cell, { arm, against }, rounds, launches),
  );
  const others = comparisons.map(({ effect }) => effect?.perRound ?? []);
  const measured = plan.arms.filter(({ control }) => control !== 'null');
  return {
    nullArm,
    leverOff,
    readings: [
      ...(nullArm === null ? [] : [nullReading(cell, nullArm, proofOf(nullArm), others)]),
      ...leverOff.map((comparison) => leverOffReading(cell, comparison, proofOf(comparison), level)),
      ...measured.map(({ name }) => warmUpReading(cell, name, launches(name), plan.protocol.clock)),
    ],
  };
}
