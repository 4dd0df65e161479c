/** What a requirement lacks where too few runs count for it, and why those that were offered do not. Pure. */
import { counted } from '../counted.js';
import { type GateCell, type Reason, reason } from './decision.js';
import { countDistinct } from './distinct-machines.js';
import type { Offer } from './offers.js';
import type { Requirement } from './policy.js';

/** What is short of, and by which offers. */
export interface Lack {
  result: 'missing' | 'invalid';
  reasons: Reason[];
  /** Offers of its matrix that do not count for it, or not in full. */
  near: Offer[];
  /** Machines that speak, each by a key of its own. */
  machines: number;
}

/** Null when enough machines speak. `cells` are those that are judged, also by runs that count with what failed in them only. */
export function lackOf(
  requirement: Requirement,
  index: number,
  offers: readonly Offer[],
  cells: readonly GateCell[],
): Lack | null {
  const { matrix, machine, machinesAtLeast } = requirement;
  const whole = offers.flatMap(({ counting, fits }) =>
    counting !== null && !counting.isOnlyAgainst && fits[index] === true ? [counting] : [],
  );
  const machines = countDistinct(
    whole.map(({ run }) => ({ keyId: run.statement.predicate.signer, machineId: run.machine.id })),
  );
  if (machines >= machinesAtLeast) return null;
  const broken = offers.filter(({ found }) => found.failure?.code === 'not-verified');
  const near = offers.filter(
    ({ found, fits, counting }) =>
      found.run?.plan.matrix.name === matrix &&
      (counting === null || counting.isOnlyAgainst || fits[index] !== true),
  );
  const nameOf = namesOf(offers);
  const told = (offer: Offer, reasons: readonly Reason[]): Reason[] =>
    reasons.map(({ code, message }) => reason(code, `${nameOf(offer)}: ${message}`));
  const first =
    machines === 0
      ? reason(
          'no-run',
          `no run of ${matrix} on ${machine} counts ${cells.length === 0 ? 'for this change' : 'in full'}`,
        )
      : reason(
          'too-few-machines',
          `runs of ${counted(machines, 'machine')} by as many keys; ${machinesAtLeast} are required, each by a key of its own`,
        );
  return {
    result: broken.length > 0 ? 'invalid' : 'missing',
    reasons: [
      first,
      ...broken.flatMap((offer) => told(offer, offer.against)),
      ...near.flatMap((offer) => told(offer, whyNot(offer, index))),
    ],
    near,
    machines,
  };
}

/** Why an offer does not count for a requirement, or not in full. */
const whyNot = ({ against, counting, notes, unfit }: Offer, index: number): Reason[] => [
  ...against,
  ...(counting?.isOnlyAgainst ? notes : []),
  ...(unfit[index] ?? []),
];

/** What each is called in a sentence: the last part of its path where no other has it. The decision lists the paths. */
function namesOf(offers: readonly Offer[]): (offer: Offer) => string {
  const lastPart = ({ found: { path } }: Offer): string =>
    path.split('/').findLast((part) => part !== '') ?? path;
  const seen = offers.map(lastPart);
  return (offer) => {
    const name = lastPart(offer);
    return seen.indexOf(name) === seen.lastIndexOf(name) ? name : offer.found.path;
  };
}
