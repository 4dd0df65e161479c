/** Was the machine the engine's own? Decided from telemetry by the rules of the plan, before any rate is looked at, for all arms alike. */
import { counted } from '../counted.js';
import type { Plan } from '../plan/schema.js';
import { distinct, type Finding, finding } from './finding.js';
import { finished, type Launch } from './observations.js';
import { median } from './statistics.js';

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** What two readings around the launch say: others, swap, disk. CPU time bears foreign load (a warning); wall time does not. */
function loadFindings({ protocol }: Plan, launch: Launch): Finding[] {
  if (launch.load === undefined)
    return [finding('load-unknown', `${launch.id}: what else the machine did was not recorded`)];
  const rules = protocol.invalidation;
  const { foreignCpuShare, swapIns, majorFaults } = launch.load;
  const findings: Finding[] = [];
  if (protocol.clock === 'wall' && foreignCpuShare > rules.foreignCpuShare) {
    const [most] = launch.telemetry?.others ?? [];
    const who = most === undefined ? '' : ` (most of it ${most.name}, ${percent(most.cpuShare)})`;
    const message = `${launch.id}: others used ${percent(foreignCpuShare)} of the machine${who}, at most ${percent(rules.foreignCpuShare)} is borne; quiet it, or let CPU time decide`;
    findings.push(finding('foreign-load', message));
  }
  if (swapIns > rules.swapIns) {
    const message = `${launch.id}: ${swapIns} pages came back from swap, at most ${rules.swapIns} are borne; free memory`;
    findings.push(finding('swapping', message));
  }
  if (majorFaults > rules.majorFaults) {
    const message = `${launch.id}: the engine waited for ${majorFaults} pages from a disk, at most ${rules.majorFaults} are borne; free memory, or read the model once before`;
    findings.push(finding('major-faults', message));
  }
  return findings;
}

/** What the readings in the course of the launch say: heat, memory, who else is on the device. */
function telemetryFindings(plan: Plan, launch: Launch): Finding[] {
  const asked = plan.arms.find(({ name }) => name === launch.arm)?.telemetry !== false;
  const { telemetry } = launch;
  if (telemetry === undefined)
    return asked ? [finding('telemetry-missing', `${launch.id}: nobody watched the machine`)] : [];
  const rules = plan.protocol.invalidation;
  const findings: Finding[] = [];
  if ((telemetry.throttles ?? 0) > rules.throttles) {
    const message = `${launch.id}: the CPU throttled itself ${counted(telemetry.throttles ?? 0, 'time')} for heat, at most ${rules.throttles} are borne; cool it, or lower its clock`;
    findings.push(finding('throttled', message));
  }
  const waited = telemetry.pressure?.memory ?? 0;
  if (waited > rules.memoryPressure) {
    const message = `${launch.id}: somebody waited for memory in ${percent(waited)} of the time, at most ${percent(rules.memoryPressure)} is borne; free memory`;
    findings.push(finding('memory-pressure', message));
  }
  const users = telemetry.gpuUsers ?? [];
  if (users.length > rules.foreignGpuProcesses) {
    const message = `${launch.id}: ${users.join(', ')} also used the compute device; end it`;
    findings.push(finding('gpu-shared', message));
  }
  return findings;
}

/** Clocks of the arms, as medians over launches, may not be apart: heat or a governor would be measured as a change. */
function clockFindings({ protocol, arms }: Plan, launches: readonly Launch[]): Finding[] {
  const medians = arms.flatMap(({ name }) => {
    const clocks = launches
      .filter(({ arm }) => arm === name)
      .flatMap(({ telemetry }) => telemetry?.clockMhz?.median ?? []);
    return clocks.length === 0 ? [] : [{ name, mhz: median(clocks) }];
  });
  const [slow, fast] = [
    medians.toSorted((a, b) => a.mhz - b.mhz)[0],
    medians.toSorted((a, b) => b.mhz - a.mhz)[0],
  ];
  if (slow === undefined || fast === undefined) return [];
  const apart = 1 - slow.mhz / fast.mhz;
  if (!(apart > protocol.invalidation.clockShare)) return [];
  const message = `the CPU ran at ${Math.round(slow.mhz)} MHz for ${slow.name} and at ${Math.round(fast.mhz)} MHz for ${fast.name}: ${percent(apart)} apart, at most ${percent(protocol.invalidation.clockShare)} is borne; fix the governor`;
  return [finding('cpu-clocks-apart', message)];
}

/** Everything that voids launches, by the rules of the plan. */
export function contaminationOf(plan: Plan, launches: readonly Launch[]): Finding[] {
  const done = launches.filter(finished);
  return distinct([
    ...done.flatMap((launch) => [...loadFindings(plan, launch), ...telemetryFindings(plan, launch)]),
    ...clockFindings(plan, done),
  ]);
}

/** Foreign load that does not void CPU time but is worth knowing: it costs cache and clock frequency. */
export function loadWarnings({ protocol }: Plan, launches: readonly Launch[]): Finding[] {
  const limit = protocol.invalidation.foreignCpuShare;
  const shares = launches.map((launch) => launch.load?.foreignCpuShare ?? 0);
  const loaded = shares.filter((share) => share > limit);
  if (protocol.clock === 'wall' || loaded.length === 0) return [];
  const message = `others used up to ${percent(Math.max(...loaded))} of the machine in ${loaded.length} of ${counted(launches.length, 'launch', 'es')}; CPU time bears it, wall time does not`;
  return [finding('foreign-load', message)];
}
