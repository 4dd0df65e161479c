/** Was the machine the engine's own? Decided from telemetry by the rules of the plan, before any rate is looked at, for all arms alike. */
import { counted } from '../counted.js';
import type { Plan } from '../plan/schema.js';
import { distinct, type Finding, finding } from './finding.js';
import { finished, type Launch } from './observations.js';
import { median } from './statistics.js';

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** A rule that a launch broke. */
export interface Breach {
  code: string;
  /** What was seen. */
  what: string;
  /** How much is borne, and what to do, as they follow in a sentence. */
  remedy: string;
}

/** What two readings around the launch say: others, swap, disk. CPU time bears foreign load (a warning); wall time does not. */
function loadBreaches({ protocol }: Plan, launch: Launch): Breach[] {
  if (launch.load === undefined) return [];
  const rules = protocol.invalidation;
  const { foreignCpuShare, swapIns, majorFaults } = launch.load;
  const breaches: Breach[] = [];
  if (protocol.clock === 'wall' && foreignCpuShare > rules.foreignCpuShare) {
    const [most] = launch.telemetry?.others ?? [];
    const who = most === undefined ? '' : ` (most of it ${most.name}, ${percent(most.cpuShare)})`;
    const what = `others used ${percent(foreignCpuShare)} of the machine${who}`;
    const remedy = `, at most ${percent(rules.foreignCpuShare)} is borne; quiet it, or let CPU time decide`;
    breaches.push({ code: 'foreign-load', what, remedy });
  }
  if (swapIns > rules.swapIns) {
    const what = `${swapIns} pages came back from swap`;
    breaches.push({ code: 'swapping', what, remedy: `, at most ${rules.swapIns} are borne; free memory` });
  }
  if (majorFaults > rules.majorFaults) {
    const what = `the engine waited for ${majorFaults} pages from a disk`;
    const remedy = `, at most ${rules.majorFaults} are borne; free memory, or read the model once before`;
    breaches.push({ code: 'major-faults', what, remedy });
  }
  return breaches;
}

/** What the readings in the course of the launch say: heat, memory, who else is on the device. */
function telemetryBreaches({ protocol }: Plan, { telemetry }: Launch): Breach[] {
  if (telemetry === undefined) return [];
  const rules = protocol.invalidation;
  const breaches: Breach[] = [];
  if ((telemetry.throttles ?? 0) > rules.throttles) {
    const what = `the CPU throttled itself ${counted(telemetry.throttles ?? 0, 'time')} for heat`;
    const remedy = `, at most ${rules.throttles} are borne; cool it, or lower its clock`;
    breaches.push({ code: 'throttled', what, remedy });
  }
  const waited = telemetry.pressure?.memory ?? 0;
  if (waited > rules.memoryPressure) {
    const what = `somebody waited for memory in ${percent(waited)} of the time`;
    const remedy = `, at most ${percent(rules.memoryPressure)} is borne; free memory`;
    breaches.push({ code: 'memory-pressure', what, remedy });
  }
  const users = telemetry.gpuUsers ?? [];
  if (users.length > rules.foreignGpuProcesses) {
    const what = `${users.join(', ')} also used the compute device`;
    breaches.push({ code: 'gpu-shared', what, remedy: '; end it' });
  }
  return breaches;
}

/** The rules that what was seen beside a launch breaks. Looks at no rate, and says nothing of what was not seen. */
export const breachesIn = (plan: Plan, launch: Launch): Breach[] => [
  ...loadBreaches(plan, launch),
  ...telemetryBreaches(plan, launch),
];

/** Whether a rule is about what the engine did itself, so that measuring again would forgive an arm what it causes. */
export const isOwnDoing = ({ code }: Breach): boolean => code === 'major-faults';

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

/** What voids one launch: the rules that it broke, and that it was not watched. */
function findingsOf(plan: Plan, launch: Launch): Finding[] {
  const { id, load, telemetry } = launch;
  const asked = plan.arms.find(({ name }) => name === launch.arm)?.telemetry !== false;
  const unseen = load === undefined ? ['what else the machine did was not recorded'] : [];
  const unwatched = telemetry === undefined && asked ? ['nobody watched the machine'] : [];
  return [
    ...unseen.map((what) => finding('load-unknown', `${id}: ${what}`)),
    ...breachesIn(plan, launch).map(({ code, what, remedy }) => finding(code, `${id}: ${what}${remedy}`)),
    ...unwatched.map((what) => finding('telemetry-missing', `${id}: ${what}`)),
  ];
}

/** Everything that voids launches, by the rules of the plan. */
export function contaminationOf(plan: Plan, launches: readonly Launch[]): Finding[] {
  const done = launches.filter(finished);
  return distinct([...done.flatMap((launch) => findingsOf(plan, launch)), ...clockFindings(plan, done)]);
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
