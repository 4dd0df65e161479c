/**
 * Rounds that telemetry voids are measured again, all arms in the same order, by a rule that the plan has and that sees no rate: a round
 * is void when one of its launches broke a rule of `protocol.invalidation` that is about others. How many may be is bounded, since a machine
 * that is never left alone is not measured by waiting for luck. What the engine did itself is measured once: it contaminates.
 */
import { counted } from '../counted.js';
import type { Entry } from '../journal/entries.js';
import { nextLook } from '../plan/rounds.js';
import type { Plan } from '../plan/schema.js';
import { breachesIn, isOwnDoing } from './contamination.js';
import { type Finding, finding } from './finding.js';
import { standingEntries, type VoidRound, voidRounds } from './lost-launches.js';
import { finished, type Launch, observe } from './observations.js';

/** Rounds that may be void of so many: one, or a share of them; none where the plan has no share. */
export function bearableVoids({ decision: { voidShare } }: Pick<Plan, 'decision'>, rounds: number): number {
  return voidShare === undefined ? 0 : Math.max(1, Math.floor(rounds * voidShare));
}

/** The launches of the round that has just ended, whole; none while a round is under way, and after its look. */
function roundJustEnded(plan: Plan, standing: readonly Entry[]): Launch[] {
  const last = standing.findLast((entry) => entry.kind === 'launch');
  if (last?.kind !== 'launch') return [];
  if (standing.some((entry) => entry.kind === 'look' && entry.rounds > last.round)) return [];
  const order = plan.rounds[last.round]?.order ?? [];
  const launches = observe(standing).launches.filter(({ round }) => round === last.round);
  return launches.length === order.length && launches.every(finished) ? launches : [];
}

/**
 * What is to be written of the round that has just ended, when telemetry voids it: which round, and by which codes. Null when it stands,
 * also because no more rounds may be void, or an engine was itself the cause, and then it contaminates. The session asks after each round; `verify` asks again.
 */
export function dueVoid(plan: Plan, entries: readonly Entry[]): { round: number; codes: string[] } | null {
  const launches = roundJustEnded(plan, standingEntries(entries));
  const [first] = launches;
  if (first === undefined || voidRounds(entries).length >= bearableVoids(plan, nextLook(plan, first.round)))
    return null;
  const breaches = launches.flatMap((launch) => breachesIn(plan, launch));
  const codes = breaches.map(({ code }) => code);
  return codes.length === 0 || breaches.some(isOwnDoing)
    ? null
    : { round: first.round, codes: [...new Set(codes)] };
}

/** What voided a round, as `others used 41 % of the machine in r02-1-head`. */
export function voidText(plan: Plan, entries: readonly Entry[], { launches }: VoidRound): string {
  const own = entries.filter((entry) => 'launch' in entry && launches.includes(entry.launch ?? ''));
  return observe(own)
    .launches.flatMap((launch) => breachesIn(plan, launch).map(({ what }) => `${what} in ${launch.id}`))
    .join(', ');
}

/** Which rounds were measured again, and why. */
export function voidWarnings(plan: Plan, entries: readonly Entry[]): Finding[] {
  const again = voidRounds(entries);
  const last = again.at(-1);
  if (last === undefined) return [];
  const look = nextLook(plan, last.round);
  const told = again.map(
    (own) => `round ${own.round + 1} was measured again: ${voidText(plan, entries, own)}`,
  );
  const message = `${told.join('; ')}; that is ${again.length} of ${counted(look, 'round')}, at most ${bearableVoids(plan, look)} may be`;
  return [finding('round-repeated', message)];
}

/** Whether telemetry voids more rounds of a look than may be measured again. `launches` are those that count, of all arms. */
export function tooManyVoid(
  plan: Plan,
  again: readonly VoidRound[],
  launches: readonly Launch[],
  rounds: number,
): Finding[] {
  if (plan.decision.voidShare === undefined) return [];
  const broken = launches.filter((launch) => finished(launch) && breachesIn(plan, launch).length > 0);
  const standing = new Set(broken.map(({ round }) => round)).size;
  const repeated = again.filter(({ round }) => round < rounds).length;
  const most = bearableVoids(plan, rounds);
  if (standing === 0 || repeated + standing <= most) return [];
  const times = counted(repeated + standing, 'time');
  const message = `telemetry voided a round ${times}, and of ${counted(rounds, 'round')} at most ${most} may be measured again; quiet the machine and measure anew`;
  return [finding('rounds-void', message)];
}
