/** Every run that was offered, with what is said for and against it. Pure. */
import type { Matrix } from '../matrix/schema.js';
import type { CountingRun } from './cells.js';
import type { OfferedRun, Reason } from './decision.js';
import type { FoundRun, GateInput } from './input.js';
import { judgeFit } from './judge-requirement.js';
import { endOf, judgeRun } from './judge-run.js';
import type { Requirement } from './policy.js';
import { changesOf, commitOf, referenceOf } from './run-subject.js';
import { supersededRuns } from './supersede.js';

export interface Offer {
  found: FoundRun;
  /** Null when it does not count, for whatever requirement. */
  counting: CountingRun | null;
  /** Why it does not. */
  against: Reason[];
  notes: Reason[];
  /** By requirement: whether it is what is asked for, and why not. */
  fits: boolean[];
  unfit: Reason[][];
}

/** Judges all of them, in the order in which they were found. */
export function offersOf(input: GateInput): Offer[] {
  const seen = new Set<string>();
  const offers = input.runs.map((found, index) => judgeOffer(input, found, index, seen));
  const counting = offers.flatMap((offer) =>
    offer.counting !== null && !offer.counting.isOnlyAgainst && offer.fits.includes(true)
      ? [offer.counting]
      : [],
  );
  const replaced = supersededRuns(counting, input.policy);
  return offers.map((offer, index) => {
    const by = replaced.get(index);
    if (by === undefined) return offer;
    const message = `it showed nothing that decides, and ${input.runs[by]?.path ?? ''} measured later on the same machine`;
    return { ...offer, counting: null, against: [{ code: 'superseded', message }] };
  });
}

function judgeOffer(input: GateInput, found: FoundRun, index: number, seen: Set<string>): Offer {
  const none = input.policy.require.map(() => false);
  const { run, failure } = found;
  if (run === null) {
    const against = failure === null ? [] : [failure];
    return { found, counting: null, against, notes: [], fits: none, unfit: none.map(() => []) };
  }
  const { against, onlyAgainst, notes, arms } = judgeRun(input, run);
  // By signer, too: what another key signed again is another statement.
  const name = `${run.digest} ${run.statement.predicate.signer}`;
  if (seen.has(name)) against.push({ code: 'duplicate', message: 'the same run was found before' });
  seen.add(name);
  const unfit = input.policy.require.map((requirement, at) =>
    judgeFit(run, requirement, input, requiredAt(input, at).matrix, arms),
  );
  const fits = unfit.map((reasons) => reasons.length === 0);
  const counting = against.length === 0 ? { index, run, arms, isOnlyAgainst: onlyAgainst !== null } : null;
  const why = (onlyAgainst ?? []).map(({ message }) => message).join('; ');
  const told = why === '' ? [] : [{ code: 'only-against', message: `only what failed in it counts: ${why}` }];
  return { found, counting, against, notes: [...told, ...notes], fits, unfit };
}

/** A requirement of the policy, by its index, with the matrix that it means. */
export function requiredAt(
  { policy, matrices }: Pick<GateInput, 'policy' | 'matrices'>,
  index: number,
): { requirement: Requirement; matrix: Matrix } {
  const [requirement, matrix] = [policy.require[index], matrices[index]];
  if (requirement === undefined || matrix === undefined)
    throw new Error(`Requirement ${index} has no matrix.`);
  return { requirement, matrix };
}

/** As the decision shows it. */
export function toOfferedRun(offer: Offer): OfferedRun {
  const { found, counting, against, notes, fits, unfit } = offer;
  const { path, run } = found;
  const counts = counting !== null && fits.includes(true);
  const isUnfit = counting !== null && !counts;
  const statement = run?.statement;
  const changes = statement === undefined ? [] : changesOf(statement);
  const head = changes.find(({ name }) => counting?.arms.includes(name)) ?? changes.at(-1);
  return {
    path,
    digest: run?.digest ?? null,
    kind: run?.kind ?? null,
    session: run?.plan.session ?? null,
    matrix: run?.plan.matrix.name ?? null,
    head: commitOf(head),
    base: statement === undefined ? null : commitOf(referenceOf(statement)),
    machineId: run?.machine.id ?? null,
    signer: statement?.predicate.signer ?? null,
    finishedAt: run === null ? null : endOf(run),
    result: run?.verdict.result ?? null,
    counts,
    reasons: [...against, ...(isUnfit ? mostTelling(unfit) : []), ...notes],
  };
}

/** Of a run that fits no requirement, why not the one that it comes closest to: its own matrix before others. */
function mostTelling(unfit: readonly Reason[][]): Reason[] {
  const own = unfit.filter((reasons) => !reasons.some(({ code }) => code === 'wrong-matrix'));
  return own.toSorted((a, b) => a.length - b.length)[0] ?? unfit[0] ?? [];
}
