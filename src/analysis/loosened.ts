/** What a plan gives up of what would void a launch. All of it may be asked for, and none of it goes without a word. */
import { invalidationSchema } from '../matrix/schema.js';
import type { Plan } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';

const defaults = invalidationSchema.parse({});
const names = Object.keys(defaults) as (keyof typeof defaults)[];

/** Limits of `protocol.invalidation` that bear more than the defaults do, each with its value; one warning of all. */
export function loosenedLimits({ protocol: { invalidation } }: Plan): Finding[] {
  const looser = names
    .filter((name) => invalidation[name] > defaults[name])
    .map((name) => `${name} ${invalidation[name]} (default ${defaults[name]})`);
  if (looser.length === 0) return [];
  const message = `launches were borne that the default limits of protocol.invalidation would have voided: ${looser.join(', ')}`;
  return [finding('limits-loosened', message)];
}

/** Arms whose launches ran without telemetry. */
export function unwatchedArms({ arms }: Plan): Finding[] {
  const unwatched = arms.filter(({ telemetry }) => telemetry === false).map(({ name }) => name);
  if (unwatched.length === 0) return [];
  const message = `telemetry was off while ${unwatched.join(', ')} ran: clocks, heat, memory pressure and devices were not seen`;
  return [finding('not-watched', message)];
}
