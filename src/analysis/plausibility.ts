/** Can the times be true? The client's clock against the server's, and the server's against what a clock can tell. */
import type { PlannedCell } from '../plan/schema.js';
import { distinct, type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import type { Sample } from './observations.js';
import { type Clock, phaseMs } from './rate.js';
import { median } from './statistics.js';

/** Wall time that the server accounts for; null when it does not. */
function serverMs(sample: Sample): number | null {
  const { promptMs, predictedMs } = sample.answer;
  return promptMs === null ? null : promptMs + (predictedMs ?? 0);
}

/** Impossible times of retained samples: below what can be timed, longer than the client saw, or hiding most of it. */
export function impossibleTimes(cell: PlannedCell, samples: readonly Sample[], clock: Clock): Finding[] {
  const found = samples.flatMap((sample) => {
    const at = `${sample.prompt} in ${sample.launch}`;
    const ms = phaseMs(sample.answer, cell.phase, clock);
    const server = serverMs(sample);
    const { clientMs } = sample.answer;
    if (ms !== null && ms < limits.shortestMs) {
      return [finding('time-too-short', `${at}: ${cell.phase} took ${ms} ms, below what a clock can tell`)];
    }
    if (server !== null && server > clientMs * (1 + limits.clockShare) + limits.clockMs) {
      return [
        finding('time-beyond-client', `${at}: the server claims ${server} ms, the client saw ${clientMs} ms`),
      ];
    }
    return [];
  });
  const pairs = samples.map((sample) => ({ server: serverMs(sample), client: sample.answer.clientMs }));
  const hidden = pairs.flatMap(({ server, client }) => (server === null ? [] : [{ server, client }]));
  if (hidden.length > 0) {
    const server = median(hidden.map((pair) => pair.server));
    const client = median(hidden.map((pair) => pair.client));
    if (server < client * limits.hiddenShare && client - server > limits.hiddenMs) {
      const message = `the server accounts for ${server} ms of the ${client} ms that the client saw (medians)`;
      found.push(finding('time-hidden', message));
    }
  }
  return distinct(found);
}

/** A warning when the two clocks differ by more than 2 % and 5 ms in any sample. */
export function clockWarnings(cell: PlannedCell, samples: readonly Sample[]): Finding[] {
  const apart = samples.filter((sample) => {
    const server = serverMs(sample);
    const gap = server === null ? 0 : Math.abs(sample.answer.clientMs - server);
    return gap > limits.clockMs && gap > limits.clockShare * sample.answer.clientMs;
  });
  if (apart.length === 0) return [];
  const message = `${cell.id}: client and server clocks differ by more than 2 % and 5 ms in ${apart.length} of ${samples.length} samples`;
  return [finding('clocks-apart', message)];
}
