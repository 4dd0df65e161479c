/** The rate of one request of a simulated session: a pure function of the plan's seed and noise, and of which request it is. */
import { z } from 'zod';
import { simulationSchema } from '../matrix/simulation.js';
import type { Plan } from '../plan/schema.js';
import { Stream } from '../plan/stream.js';
import { streamDraw } from './draw.js';
import { launchLog, machineCourse, noiseOf, placeLog, requestLog } from './noise.js';

/** All that a launch of the simulated engine is told; it stands in the launch's arguments, in the journal. */
export const simulatedLaunchSchema = z.strictObject({
  simulation: simulationSchema,
  seed: z.string().regex(/^[0-9a-f]{64}$/),
  /** Which launch of the plan, from 0, and how many the plan has at most. */
  slot: z.int().min(0),
  slots: z.int().min(1),
  /** 0 for the first launch of its round. */
  position: z.int().min(0),
  effectPercent: z.number(),
  plantedSlowdownPercent: z.number(),
});

export type SimulatedLaunch = z.infer<typeof simulatedLaunchSchema>;

/** What to tell the launch at a place of a plan. Throws a `RangeError` when the plan has no such place. */
export function simulatedLaunch(plan: Plan, place: { round: number; position: number }): SimulatedLaunch {
  const sizes = plan.rounds.map(({ order }) => order.length);
  const before = sizes.slice(0, place.round).reduce((sum, size) => sum + size, 0);
  const name = plan.rounds[place.round]?.order[place.position];
  const arm = plan.arms.find((candidate) => candidate.name === name);
  if (arm === undefined || plan.simulation === undefined)
    throw new RangeError(`the plan simulates no launch ${place.position} of round ${place.round}`);
  return {
    simulation: plan.simulation,
    seed: plan.seed,
    slot: before + place.position,
    slots: sizes.reduce((sum, size) => sum + size, 0),
    position: place.position,
    effectPercent: arm.effectPercent ?? 0,
    plantedSlowdownPercent: arm.plantedSlowdownPercent ?? 0,
  };
}

/** The rates of a launch, in tokens a second. `shape` names requests that warm each other up; `index` counts them from 0. */
export function simulatedRates(launch: SimulatedLaunch): (shape: string, index: number) => number {
  const { simulation, seed, slot, slots, position } = launch;
  const noise = noiseOf(simulation);
  const drawOf = (label: string) => streamDraw(new Stream(seed, `simulation:${label}`));
  const shared =
    (machineCourse(noise, slots, drawOf('course'))[slot] ?? 0) +
    placeLog(noise, position) +
    Math.log1p(launch.effectPercent / 100) -
    Math.log1p(launch.plantedSlowdownPercent / 100);
  return (shape, index) => {
    const luck = launchLog(noise, drawOf(`launch:${slot}:${shape}`));
    const own = requestLog(noise, index, drawOf(`request:${slot}:${shape}:${index}`));
    return simulation.tokensPerSecond * Math.exp(shared + luck + own);
  };
}
