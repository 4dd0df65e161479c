/** Did an engine leave something running? What it left is ended before the next launch; what it did in its own is unknown. */
import { type Finding, finding } from './finding.js';
import { finished, type Launch } from './observations.js';

/** Processes that outlived their engine and had to be killed. */
export function leftBehind(launches: readonly Launch[]): Finding[] {
  return launches.filter(finished).flatMap(({ id, stop }) => {
    if (stop?.left === undefined) return [];
    const message = `${id}: ${stop.left.join(', ')} outlived the engine and had to be killed; what ran beside the samples is unknown`;
    return [finding('stray-child', message)];
  });
}
