/** The arithmetic floor: no engine evaluates a token faster than its cores can multiply. */
import { operationsPerToken } from '../plan/preset.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import { distinct, type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import { type Launch, samplesOf } from './observations.js';
import { PerLaunch } from './per-launch.js';
import { type Clock, rateOf } from './rate.js';

/** Names of instruction sets by the operations that a core can do in a cycle: two of the widest units, on bytes, with VNNI. */
const namesOf: readonly (readonly [number, string])[] = [
  [64, 'portable x64 sse42 sandybridge ivybridge piledriver'],
  [128, 'avx2 haswell alderlake'],
  [256, 'avx512 skylakex cannonlake cascadelake icelake cooperlake zen4'],
  [4096, 'sapphirerapids'],
];

/** Multiplication and addition counted apart. Our names, and those of llama.cpp's variants for the CPU. */
const operationsPerCycle = new Map(
  namesOf.flatMap(([operations, names]) => names.split(' ').map((name) => [name, operations] as const)),
);

interface Floor {
  /** No rate is above it; tokens a second. */
  tokPerSec: number;
  /** What it follows from. */
  why: string;
}

/**
 * The rate that nothing can exceed, generously: what the model of a preset has to multiply for a token, at a clock of 6.5 GHz on the
 * threads of the engine (on one, where CPU time is what is counted). Of a file, or of an instruction set that is none of a CPU we
 * know, only a bound that holds for any model on any device.
 */
function floorOf(plan: Plan, launch: Launch, clock: Clock): Floor {
  const any = {
    tokPerSec: 1e9 / limits.shortestTokenNs,
    why: `nothing takes less than ${limits.shortestTokenNs} ns a token`,
  };
  const operations = operationsPerToken(plan.model);
  const perCycle = operationsPerCycle.get(launch.ready?.witness.isa ?? '');
  if (operations === null || perCycle === undefined) return any;
  const threads = clock === 'wall' ? Math.max(1, launch.ready?.witness.threads ?? 1) : 1;
  const perSecond = threads * limits.clockHz * perCycle;
  const on = `${threads} thread${threads === 1 ? '' : 's'} of ${launch.ready?.witness.isa}`;
  return {
    tokPerSec: perSecond / operations,
    why: `a token takes ${Math.round(operations / 1e6)} million operations, on ${on}`,
  };
}

/** Samples that are faster than arithmetic, by either clock. */
export const impossibleSpeeds = (plan: Plan, cell: PlannedCell, launches: readonly Launch[]): Finding[] =>
  distinct(launches.flatMap((launch) => speeds.of(launch, cell, () => findImpossible(plan, cell, launch))));

const speeds = new PerLaunch<readonly Finding[]>();

function findImpossible(plan: Plan, cell: PlannedCell, launch: Launch): Finding[] {
  const bounds = (['wall', 'cpu'] as const).map((clock) => ({
    clock,
    floor: floorOf(plan, launch, clock),
  }));
  return samplesOf(launch, cell.id, 'sample').flatMap(({ answer, prompt }) =>
    bounds.flatMap(({ clock, floor }) => {
      const rate = rateOf(answer, cell.phase, clock);
      if (rate === null || rate <= floor.tokPerSec) return [];
      const [shown, most] = [rate, floor.tokPerSec].map((value) => value.toPrecision(3));
      const message = `${prompt} in ${launch.id}: ${shown} tok/s by ${clock} time, where ${most} are the most: ${floor.why}`;
      return [finding('impossible-speed', message)];
    }),
  );
}

/** A warning where the floor is only the one that holds for anything: what a GPU can multiply is not known here. */
export function floorWarnings(plan: Plan, launches: readonly Launch[]): Finding[] {
  if (operationsPerToken(plan.model) === null) return [];
  const names = launches.flatMap((launch) => launch.ready?.witness.isa ?? []);
  const unknown = [...new Set(names)].filter((isa) => !operationsPerCycle.has(isa));
  return unknown.map((isa) =>
    finding(
      'floor-unknown',
      `what ${isa} can compute at most is not known: speeds are held only against ${limits.shortestTokenNs} ns a token`,
    ),
  );
}
