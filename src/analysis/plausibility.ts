/** Can the times be true? The client's clock against the server's, and the server's against what a clock can tell. */
import { counted } from '../counted.js';
import type { PlannedCell } from '../plan/schema.js';
import { claimedMs } from './clock-agreement.js';
import { distinct, type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import type { Sample } from './observations.js';
import { type Clock, phaseMs } from './rate.js';

/** Impossible times of retained samples: below what can be timed, or longer than the client saw. */
export function impossibleTimes(cell: PlannedCell, samples: readonly Sample[], clock: Clock): Finding[] {
  const found = samples.flatMap((sample) => {
    const ms = phaseMs(sample.answer, cell.phase, clock);
    const server = claimedMs(sample);
    const { clientMs } = sample.answer;
    const isShort = ms !== null && ms < limits.shortestMs;
    const isLong = server > clientMs * (1 + limits.clockShare) + limits.clockMs;
    if (!isShort && !isLong) return [];
    const at = `${sample.prompt} in ${sample.launch}`;
    if (isShort) {
      return [finding('time-too-short', `${at}: ${cell.phase} took ${ms} ms, below what a clock can tell`)];
    }
    return [
      finding('time-beyond-client', `${at}: the server claims ${server} ms, the client saw ${clientMs} ms`),
    ];
  });
  return distinct(found);
}

/** A warning when the two clocks differ by more than 2 % and 5 ms in any sample. */
export function clockWarnings(cell: PlannedCell, samples: readonly Sample[]): Finding[] {
  const apart = samples.filter((sample) => {
    const gap = Math.abs(sample.answer.clientMs - claimedMs(sample));
    return gap > limits.clockMs && gap > limits.clockShare * sample.answer.clientMs;
  });
  if (apart.length === 0) return [];
  const message = `${cell.id}: client and server clocks differ by more than 2 % and 5 ms in ${apart.length} of ${counted(samples.length, 'sample')}`;
  return [finding('clocks-apart', message)];
}
