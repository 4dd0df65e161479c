/**
 * The noise model: a rate is the machine's speed at that launch, times what the launch happened to get, times what the request
 * happened to get. Everything here is the log of a factor, so that factors add up. Pure but for the draws it is given.
 */
import type { Simulation } from '../matrix/simulation.js';
import type { Draw } from './draw.js';

const logOf = (percent: number): number => Math.log1p(percent / 100);

/** A simulation's percents as logs, ready to be added. */
export interface Noise {
  request: number;
  launch: number;
  drift: number;
  walk: number;
  step: number;
  ramp: number;
  secondSlot: number;
  slowHitShare: number;
  slowHitPercent: number;
}

export const noiseOf = (simulation: Simulation): Noise => ({
  request: simulation.cvPercent / 100,
  launch: simulation.launchCvPercent / 100,
  drift: logOf(simulation.driftPercent),
  walk: simulation.walkPercent / 100,
  step: logOf(simulation.stepPercent),
  ramp: simulation.warmupRampPercent,
  secondSlot: logOf(simulation.secondSlotPercent),
  slowHitShare: simulation.slowHitShare,
  slowHitPercent: simulation.slowHitPercent,
});

/** Speed of the machine at each launch of a plan, in the order of its launches: drift, walk and step. */
export function machineCourse(noise: Noise, launches: number, draw: Draw): Float64Array {
  const course = new Float64Array(launches);
  const stepAt = 1 + Math.floor(draw.uniform() * (launches - 1));
  const last = Math.max(1, launches - 1);
  let walked = 0;
  for (let at = 0; at < launches; at++) {
    if (noise.walk > 0) walked += noise.walk * draw.normal();
    course[at] = (noise.drift * at) / last + walked + (at >= stepAt ? noise.step : 0);
  }
  return course;
}

/** What the place of a launch in its round does to it; 0 is the first. */
export const placeLog = (noise: Noise, position: number): number => (position > 0 ? noise.secondSlot : 0);

/** What all requests of one shape share in a launch: what that process happened to get for it. */
export const launchLog = (noise: Noise, draw: Draw): number =>
  noise.launch > 0 ? noise.launch * draw.normal() : 0;

/** Least percent that a slow hit costs. */
const leastSlowHit = 2;

/** What a request has to itself; `index` counts the requests of its shape in its launch, from 0. */
export function requestLog(noise: Noise, index: number, draw: Draw): number {
  let log = noise.request * draw.normal();
  if (noise.ramp > 0) log += logOf(-noise.ramp * 0.5 ** index);
  if (noise.slowHitShare > 0 && draw.uniform() < noise.slowHitShare) {
    log += logOf(-(leastSlowHit + (noise.slowHitPercent - leastSlowHit) * draw.uniform()));
  }
  return log;
}
