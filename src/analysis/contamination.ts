/** Was the machine the engine's own? Decided from telemetry, before any rate is looked at, for all arms alike. */
import { distinct, type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import { finished, type Launch } from './observations.js';
import type { Clock } from './rate.js';

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Foreign load, swapping and waits for the disk that void a launch. CPU time bears foreign load (a warning); wall time does not. */
export function contaminationOf(launches: readonly Launch[], clock: Clock): Finding[] {
  const found = launches.filter(finished).flatMap((launch) => {
    if (launch.load === undefined) {
      return [finding('load-unknown', `${launch.id}: what else the machine did was not recorded`)];
    }
    const { foreignCpuShare, swapIns, majorFaults } = launch.load;
    const findings: Finding[] = [];
    if (clock === 'wall' && foreignCpuShare > limits.foreignCpuShare) {
      const message = `${launch.id}: others used ${percent(foreignCpuShare)} of the machine, at most ${percent(limits.foreignCpuShare)} is borne; quiet it, or let CPU time decide`;
      findings.push(finding('foreign-load', message));
    }
    if (swapIns > limits.swapIns) {
      const message = `${launch.id}: ${swapIns} pages came back from swap, at most ${limits.swapIns} are borne; free memory`;
      findings.push(finding('swapping', message));
    }
    if (majorFaults > limits.majorFaults) {
      const message = `${launch.id}: the engine waited for the disk ${majorFaults} times, at most ${limits.majorFaults} are borne; its model does not stay in memory`;
      findings.push(finding('major-faults', message));
    }
    return findings;
  });
  return distinct(found);
}

/** Foreign load that does not void CPU time but is worth knowing: it costs cache and clock frequency. */
export function loadWarnings(launches: readonly Launch[], clock: Clock): Finding[] {
  const shares = launches.map((launch) => launch.load?.foreignCpuShare ?? 0);
  const loaded = shares.filter((share) => share > limits.foreignCpuShare);
  if (clock === 'wall' || loaded.length === 0) return [];
  const message = `others used up to ${percent(Math.max(...loaded))} of the machine in ${loaded.length} of ${launches.length} launches; CPU time bears it, wall time does not`;
  return [finding('foreign-load', message)];
}
