/**
 * Which runs a later one replaces. Of several runs of one change the worst decides, so that measuring until one pleases cannot pay; but a
 * run that showed nothing left nothing to pick by, and may be repeated. Pure.
 */
import { type CountingRun, gateResultOf } from './cells.js';
import { endOf, STAYS } from './judge-run.js';
import type { GatePolicy } from './policy.js';

/** By index in the evidence, the index of the run that replaces it. */
export function supersededRuns(
  runs: readonly CountingRun[],
  policy: GatePolicy,
): ReadonlyMap<number, number> {
  const replaced = new Map<number, number>();
  for (const earlier of runs) {
    const later = runs.find((candidate) => replaces(candidate, earlier, policy));
    if (later !== undefined) replaced.set(earlier.index, later.index);
  }
  return replaced;
}

function replaces(later: CountingRun, earlier: CountingRun, { supersede }: GatePolicy): boolean {
  const [a, b] = [earlier.run, later.run];
  const isSame =
    a.machine.id === b.machine.id &&
    a.plan.matrix.name === b.plan.matrix.name &&
    Date.parse(b.statement.predicate.startedAt) > Date.parse(endOf(a));
  if (!isSame || a.verdict.cells.some(({ verdict }) => STAYS.includes(verdict))) return false;
  const result = gateResultOf(a.verdict.result);
  if (result === 'refused') return supersede.includes('refused') && !showsUndecided(a, supersede);
  return (
    result === 'inconclusive' &&
    supersede.includes('inconclusive') &&
    b.plan.rounds.length >= a.plan.rounds.length
  );
}

/** A refused run may still have a cell that was shown and not decided. */
const showsUndecided = (run: CountingRun['run'], supersede: GatePolicy['supersede']): boolean =>
  !supersede.includes('inconclusive') && run.verdict.cells.some(({ verdict }) => verdict === 'inconclusive');
