/** New switches of a head, and whether an arm shows that its gain is theirs. */
import type { Plan } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { launchesOf, type Observations } from './observations.js';

type PlannedArm = Plan['arms'][number];

const isOfHead = (head: PlannedArm) => (arm: PlannedArm) =>
  arm.control === 'lever-off' && arm.engine === head.engine && arm.revision === head.revision;

/** Lever-off arms of a head: those of its revision. */
export function leverOffArmsOf(plan: Pick<Plan, 'arms'>, head: string): string[] {
  const arm = plan.arms.find(({ name }) => name === head);
  return arm === undefined ? [] : plan.arms.filter(isOfHead(arm)).map(({ name }) => name);
}

const switchesOf = (seen: Observations, arm: string): string[] | undefined => {
  const witness = launchesOf(seen, arm, Number.POSITIVE_INFINITY).find(({ ready }) => ready)?.ready?.witness;
  return witness === undefined ? undefined : Object.keys(witness.switches);
};

/** A warning when head's engine knows switches that the reference's does not, and no arm turns them off. */
export function leverWarnings(plan: Plan, seen: Observations, arm: string, against: string): Finding[] {
  const [head, base] = [arm, against].map((name) => plan.arms.find((own) => own.name === name));
  if (head === undefined || head.engine !== base?.engine || leverOffArmsOf(plan, arm).length > 0) return [];
  const [own, known] = [switchesOf(seen, arm), switchesOf(seen, against)];
  if (own === undefined || known === undefined) return [];
  const brought = own.filter((name) => !known.includes(name)).toSorted();
  if (brought.length === 0) return [];
  const message = `${beginningOf(arm)}${brought.join(', ')}, and no lever-off arm shows that a gain is theirs; add an arm of its revision with them off and \`control: lever-off\``;
  return [finding('lever-untested', message)];
}

/** How the warning begins, by which its arm is known in a verdict, too. */
const beginningOf = (arm: string): string => `${arm} brings `;

/** Whether something is that warning, of this arm. */
export const isLeverUntested = ({ code, message }: Finding, arm: string): boolean =>
  code === 'lever-untested' && message.startsWith(beginningOf(arm));
