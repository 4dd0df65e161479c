/** Is everything that the plan asked for there? Named samples, not counts: a sample taken twice replaces nothing. */
import { counted } from '../counted.js';
import { promptsOf } from '../plan/find-prompt.js';
import { generatedTokens } from '../plan/generated-tokens.js';
import { roundsWith } from '../plan/rounds.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import {
  finished,
  type Launch,
  launchesOf,
  type Observations,
  type Sample,
  samplesOf,
} from './observations.js';
import { PerLaunch } from './per-launch.js';
import { phaseMs } from './rate.js';

const purposes = ['warmup', 'sample', 'parity'] as const;

const missing = new PerLaunch<readonly Finding[]>();

function findMissing(plan: Plan, cell: PlannedCell, launch: Launch): Finding[] {
  const name = `round ${launch.round + 1}, arm ${launch.arm}`;
  if (!finished(launch)) {
    const why = launch.failures[0]?.message ?? `it ${launch.stop?.how ?? 'was cut off'}`;
    return [finding('launch-unfinished', `${name}: the launch did not finish: ${why}`)];
  }
  return purposes.flatMap((purpose) => {
    const wanted = promptsOf(plan, cell.id, purpose).map((prompt) => prompt.id);
    const got = samplesOf(launch, cell.id, purpose);
    if (!isAll(wanted, got)) {
      const message = `${name}: ${got.length} of ${counted(wanted.length, `${purpose} request`)}, or others than planned`;
      return [finding('samples-missing', message)];
    }
    const asked = generatedTokens(plan, cell, purpose);
    const short = got.find(({ answer }) => answer.predictedN !== asked || answer.tokens.length !== asked);
    if (short !== undefined) {
      const message = `${name}: ${short.prompt} gave ${counted(short.answer.tokens.length, 'token')}, asked for ${asked}`;
      return [finding('early-stop', message)];
    }
    // A count of tokens that is absent is a matter of coldness, not of the clock.
    const untimed = got.find(({ answer }) => (phaseMs(answer, cell.phase, plan.protocol.clock) ?? 0) <= 0);
    if (purpose === 'sample' && untimed !== undefined) {
      return [finding('clock-absent', `${name}: ${untimed.prompt} has no ${plan.protocol.clock} time`)];
    }
    return [];
  });
}

/** Whether samples are of just these prompts, each once. */
function isAll(wanted: readonly string[], got: readonly Sample[]): boolean {
  const open = new Set(wanted);
  return got.length === wanted.length && got.every(({ prompt }) => open.delete(prompt));
}

/** What is missing of the first `rounds` rounds of a cell; empty when nothing is. */
export function missingOf(plan: Plan, seen: Observations, cell: PlannedCell, rounds: number): Finding[] {
  return plan.arms.flatMap(({ name }) => {
    const launches = launchesOf(seen, name, rounds);
    const have = new Set(launches.map((launch) => launch.round));
    if (launches.length !== have.size) {
      return [
        finding(
          'launched-twice',
          `arm ${name} was launched more than once in a round: runs are never repeated`,
        ),
      ];
    }
    const wanted = roundsWith(plan, name, rounds);
    if (!wanted.every((round) => have.has(round))) {
      return [
        finding('rounds-missing', `arm ${name} has ${have.size} of ${counted(wanted.length, 'round')}`),
      ];
    }
    return launches.flatMap((launch) => missing.of(launch, cell, () => findMissing(plan, cell, launch)));
  });
}
