/**
 * The conditions of a launch that have to be looked up: machine, graphics processors, control groups, processes. Read from `/proc` and
 * `/sys` alone, before anything is timed; no program is started. Mapped files are hashed once a session.
 */
import { conditionText } from '../matrix/condition-values.js';
import { cgroupConditions } from './cgroup-conditions.js';
import { gpuConditions } from './gpu-conditions.js';
import { machineConditions } from './machine-conditions.js';
import { type ProcessFacts, processConditions } from './process-conditions.js';

/** Conditions by field. Null is "unset" or "this system does not say". Never throws for what cannot be read. */
export async function gatherConditions(facts: ProcessFacts): Promise<Record<string, string | null>> {
  const found = {
    ...machineConditions(),
    ...gpuConditions(),
    ...cgroupConditions(facts.pid),
    ...(await processConditions(facts)),
  };
  return Object.fromEntries(
    Object.entries(found).map(([field, value]) => [
      conditionText(field),
      value === null ? null : conditionText(value),
    ]),
  );
}
