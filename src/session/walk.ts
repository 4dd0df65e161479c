/**
 * Walks the rounds of a plan in its order, looks when the plan says so, and goes on with what is undecided. What the journal has is
 * not done again: a session that was resumed walks on from there.
 */

import { nextAttempt, standingEntries, voidRounds } from '../analysis/lost-launches.js';
import { dueVoid, voidText } from '../analysis/void-rounds.js';
import type { Engine } from '../engine/engine.js';
import type { Entry } from '../journal/entries.js';
import type { EngineName } from '../matrix/engines.js';
import { launchesIn, nextLook } from '../plan/rounds.js';
import type { PlannedCell, PlannedRound } from '../plan/schema.js';
import { undecidedCells } from '../verdict/settle.js';
import type { ArmBuild } from './arm-builds.js';
import type { SessionContext } from './context.js';
import { runLaunch } from './launch.js';

interface WalkInputs {
  engines: Readonly<Record<EngineName, Engine>>;
  builds: ReadonlyMap<string, ArmBuild>;
  modelPath: string;
}

const minutes = (ms: number): string => {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
};

/** Where the session stands, and when the next look is due at the pace so far. */
export function progressLine(
  done: { launches: number; elapsedMs: number },
  untilLook: number,
  round: number,
  look: number,
): string {
  const left = Math.max(0, untilLook - done.launches);
  const eta =
    done.launches === 0 ? '' : `, about ${minutes((done.elapsedMs / done.launches) * left)} to the look`;
  return `round ${round + 1} of ${look}${eta}`;
}

/** Which attempt at a place is next; null when its launch is in the journal and counts. */
function attemptAt({ journal }: SessionContext, round: number, position: number): number | null {
  const standing = standingEntries(journal.entries);
  const isHere = (entry: Entry): boolean =>
    entry.kind === 'launch' && entry.round === round && entry.position === position;
  return standing.some(isHere) ? null : nextAttempt(journal.entries, { round, position });
}

/** Writes that the round is void, when it has just ended and telemetry voids it; it is then to be measured again. */
function voidRound({ plan, journal, progress }: SessionContext, round: number): boolean {
  const due = dueVoid(plan, journal.entries);
  if (due?.round !== round) return false;
  journal.append({ kind: 'void', ...due });
  const last = voidRounds(journal.entries).at(-1);
  const why = last === undefined ? '' : voidText(plan, journal.entries, last);
  progress.note(`round ${round + 1} is measured again, all its arms: ${why}`);
  return true;
}

/** Launches of this process, for telling when the next look is due. */
interface Pace {
  beganAt: number;
  launches: number;
  /** Launches of the plan that are in the journal already, less those that are made once more. */
  spared: number;
}

/** Launches each arm of a round that the journal does not have yet. */
async function runRound(
  context: SessionContext,
  inputs: WalkInputs,
  { round, order }: PlannedRound,
  cells: readonly PlannedCell[],
  pace: Pace,
): Promise<void> {
  const { plan, progress, signal } = context;
  const look = nextLook(plan, round);
  for (const [position, name] of order.entries()) {
    signal.throwIfAborted();
    const attempt = attemptAt(context, round, position);
    if (attempt === null) {
      pace.spared += 1;
      continue;
    }
    const { launches } = pace;
    const untilLook = launchesIn(plan, look) - pace.spared;
    const elapsedMs = performance.now() - pace.beganAt;
    const line = progressLine({ launches, elapsedMs }, untilLook, round, look);
    progress.update(`${line}: ${name}, ${cells.map((cell) => cell.id).join(' ')}`, launches / untilLook);
    const arm = plan.arms.find((candidate) => candidate.name === name);
    const build = inputs.builds.get(name);
    if (arm === undefined || build === undefined)
      throw new Error(`The plan orders arm "${name}", which has no build.`);
    const engine = inputs.engines[arm.engine];
    const { modelPath } = inputs;
    await runLaunch(context, { round, position, arm, attempt }, { engine, modelPath, build, cells });
    pace.launches += 1;
  }
}

/** @throws what ended a launch early; the journal has it already. */
export async function walk(context: SessionContext, inputs: WalkInputs): Promise<void> {
  const { plan, journal } = context;
  const pace: Pace = { beganAt: performance.now(), launches: 0, spared: 0 };
  const taken = new Map(
    standingEntries(journal.entries).flatMap((entry) =>
      entry.kind === 'look' ? [[entry.rounds, entry.undecided]] : [],
    ),
  );
  let cells = plan.cells;
  for (const planned of plan.rounds) {
    await runRound(context, inputs, planned, cells, pace);
    while (voidRound(context, planned.round)) {
      pace.spared -= planned.order.length;
      await runRound(context, inputs, planned, cells, pace);
    }
    const rounds = planned.round + 1;
    if (!plan.decision.looks.includes(rounds)) continue;
    const undecided = taken.get(rounds) ?? undecidedCells(plan, journal.entries);
    if (!taken.has(rounds)) journal.append({ kind: 'look', rounds, undecided: [...undecided] });
    cells = plan.cells.filter((cell) => undecided.includes(cell.id));
    if (cells.length === 0) return;
  }
}
