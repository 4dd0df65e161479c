/** A generated model in words, as reports and calibrations name it. */
import type { Model } from './schema.js';

type GeneratedModel = Extract<Model, { preset: string }>;

/** What its bytes follow from. */
export function generatedModelText({ preset, experts, dense, seed, roundTrips }: GeneratedModel): string {
  const types = dense === undefined ? [`experts ${experts}`] : [`experts ${experts}`, `dense ${dense}`];
  const rounding = roundTrips ? [] : ['no round trips'];
  return [preset, ...types, `seed ${seed}`, ...rounding].join(', ');
}
