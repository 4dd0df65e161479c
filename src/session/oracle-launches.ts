/** What the oracle launches of a plan, and what it leaves out. Pure. */
import { NO_FAULT, type PlantedFault, plantedFaults } from '../plan/planted-faults.js';
import type { Plan } from '../plan/schema.js';

/** A planted fault, or none. */
export type Fault = PlantedFault | typeof NO_FAULT;

/** One launch: the reference, healthy or with a fault, or another arm, which is healthy. */
export interface OracleLaunch extends Pick<Plan['arms'][number], 'switches' | 'arguments'> {
  /** Null for the reference. */
  arm: string | null;
  fault: Fault;
}

/**
 * The reference, healthy and with each fault; at level bounded the other arms of its engine as well, which differ by design. All of them are
 * launched from one build, so that arms of another revision than the reference's are `notRun`: what that build does says nothing of them.
 */
export function oracleLaunches({ arms, protocol }: Pick<Plan, 'arms' | 'protocol'>): {
  launches: OracleLaunch[];
  notRun: string[];
} {
  const [reference, ...others] = arms.filter(({ engine }) => engine === 'embedded');
  const settings = { switches: reference?.switches ?? {}, arguments: reference?.arguments ?? [] };
  const spoilt = ([NO_FAULT, ...plantedFaults] as const).map(
    (fault): OracleLaunch => ({ ...settings, arm: null, fault }),
  );
  const compared = protocol.parity === 'bounded' ? others.filter(({ control }) => control === undefined) : [];
  const isOfBuild = ({ revision }: Plan['arms'][number]): boolean => revision === reference?.revision;
  const healthy = compared.filter(isOfBuild).map(
    (arm): OracleLaunch => ({
      switches: arm.switches,
      arguments: arm.arguments,
      arm: arm.name,
      fault: NO_FAULT,
    }),
  );
  return {
    launches: [...spoilt, ...healthy],
    notRun: compared.filter((arm) => !isOfBuild(arm)).map(({ name }) => name),
  };
}
