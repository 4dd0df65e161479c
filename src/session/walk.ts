/**
 * Walks the rounds of a plan in its order, looks when the plan says so, and goes on with what is undecided. What the journal has is
 * not done again: a session that was resumed walks on from there.
 */

import { lostLaunches, standingEntries } from '../analysis/lost-launches.js';
import type { Engine } from '../engine/engine.js';
import type { EngineName } from '../matrix/engines.js';
import { launchesIn } from '../plan/rounds.js';
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
function nextAttempt({ journal }: SessionContext, round: number, position: number): number | null {
  const isHere = (place: { round: number; position: number }): boolean =>
    place.round === round && place.position === position;
  if (standingEntries(journal.entries).some((entry) => entry.kind === 'launch' && isHere(entry))) return null;
  return lostLaunches(journal.entries).filter(isHere).length + 1;
}

/** @throws what ended a launch early; the journal has it already. */
export async function walk(context: SessionContext, inputs: WalkInputs): Promise<void> {
  const { plan, journal, progress } = context;
  const began = performance.now();
  const taken = new Map(
    standingEntries(journal.entries).flatMap((entry) =>
      entry.kind === 'look' ? [[entry.rounds, entry.undecided]] : [],
    ),
  );
  let cells = plan.cells;
  let launches = 0;
  let skipped = 0;
  for (const { round, order } of plan.rounds) {
    const look = plan.decision.looks.find((rounds) => rounds > round) ?? plan.rounds.length;
    for (const [position, name] of order.entries()) {
      context.signal.throwIfAborted();
      const attempt = nextAttempt(context, round, position);
      if (attempt === null) {
        skipped += 1;
        continue;
      }
      const untilLook = launchesIn(plan, look) - skipped;
      const line = progressLine({ launches, elapsedMs: performance.now() - began }, untilLook, round, look);
      progress.update(`${line}: ${name}, ${cells.map((cell) => cell.id).join(' ')}`, launches / untilLook);
      const arm = plan.arms.find((candidate) => candidate.name === name);
      const build = inputs.builds.get(name);
      if (arm === undefined || build === undefined)
        throw new Error(`The plan orders arm "${name}", which has no build.`);
      await runLaunch(
        context,
        { round, position, arm, attempt },
        {
          engine: inputs.engines[arm.engine],
          modelPath: inputs.modelPath,
          build,
          cells,
        },
      );
      launches += 1;
    }
    if (!plan.decision.looks.includes(round + 1)) continue;
    const undecided = taken.get(round + 1) ?? undecidedCells(plan, journal.entries);
    if (!taken.has(round + 1)) journal.append({ kind: 'look', rounds: round + 1, undecided: [...undecided] });
    cells = plan.cells.filter((cell) => undecided.includes(cell.id));
    if (cells.length === 0) return;
  }
}
