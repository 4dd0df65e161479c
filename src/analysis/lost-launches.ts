/**
 * What of a journal counts. Launches that were lost when the session was interrupted, and those of rounds that telemetry voided, were seen
 * and count for nothing.
 */
import type { Entry, EntryOf } from '../journal/entries.js';
import { placeOfName } from '../plan/launch-name.js';

/** A launch that was under way when the session was killed, interrupted or broke. It has been or will be repeated whole. */
export interface LostLaunch {
  launch: string;
  round: number;
  position: number;
  /** Code of the failure that ended it; null when the session was killed. */
  code: string | null;
}

const byUser = /INTERRUPTED$/;
const byDisk = /^ERR_QUALIFY_DISK/;

/** True when the engine failed, rather than whoever stopped the session, killed it, or filled the disk. */
export const failedByItself = ({ code }: Pick<LostLaunch, 'code'>): boolean =>
  code !== null && !byUser.test(code) && !byDisk.test(code);

/** The most launches of one place that may fail by themselves: one that fails twice is no accident. */
export const MOST_FAILURES = 2;

/**
 * Every lost launch in order, with what ended it: the last failure before the session was resumed. `underWay` is lost too, should the
 * session be resumed now.
 */
export function lostLaunches(entries: readonly Entry[], underWay: string | null = null): LostLaunch[] {
  const lost: LostLaunch[] = [];
  let code: string | null = null;
  for (const entry of entries) {
    if (entry.kind === 'failure') code = entry.code;
    if (entry.kind !== 'resume') continue;
    if (entry.lost !== null) lost.push({ launch: entry.lost, ...placeOf(entry.lost, entries), code });
    code = null;
  }
  if (underWay !== null) lost.push({ launch: underWay, ...placeOf(underWay, entries), code });
  return lost;
}

/** The lost launches that failed by themselves at the place of the last one; two of them, and the session is over. */
export function failuresOfLast(lost: readonly LostLaunch[]): LostLaunch[] {
  const last = lost.at(-1);
  return lost.filter(
    (one) => failedByItself(one) && one.round === last?.round && one.position === last.position,
  );
}

function placeOf(name: string, entries: readonly Entry[]): { round: number; position: number } {
  const started = entries.find((entry) => entry.kind === 'launch' && entry.launch === name);
  if (started?.kind === 'launch') return { round: started.round, position: started.position };
  return placeOfName(name) ?? { round: 0, position: 0 };
}

/** A round that telemetry voided, once for each time. */
export interface VoidRound {
  /** From 0. */
  round: number;
  /** Its launches that counted until then, in order. */
  launches: string[];
  codes: string[];
}

/** Every void round in order. A round that was void twice is there twice. */
export function voidRounds(entries: readonly Entry[]): VoidRound[] {
  const voids = entries.filter((entry) => entry.kind === 'void');
  if (voids.length === 0) return [];
  const gone = new Set(lostLaunches(entries).map(({ launch }) => launch));
  return voids.map((entry) => {
    const { round, codes } = entry;
    const launches = entries.flatMap((one) =>
      one.kind === 'launch' && one.round === round && one.seq < entry.seq && !gone.has(one.launch)
        ? [one.launch]
        : [],
    );
    for (const launch of launches) gone.add(launch);
    return { round, launches, codes };
  });
}

/** Which attempt at a place of the plan is next: 1, and one more for each launch there that was lost or void. */
export function nextAttempt(
  entries: readonly Entry[],
  { round, position }: { round: number; position: number },
): number {
  const lost = lostLaunches(entries).filter((one) => one.round === round && one.position === position);
  const again = entries.filter((entry) => entry.kind === 'void' && entry.round === round);
  return 1 + lost.length + again.length;
}

/**
 * The entries that count: without those of lost launches and void rounds, and without the failures and ends after which the session
 * went on.
 */
export function standingEntries(entries: readonly Entry[]): Entry[] {
  const resumed = entries.findLast((entry) => entry.kind === 'resume');
  const again = voidRounds(entries);
  if (resumed === undefined && again.length === 0) return [...entries];
  const gone = new Set([
    ...lostLaunches(entries).map(({ launch }) => launch),
    ...again.flatMap(({ launches }) => launches),
  ]);
  return entries.filter((entry) => {
    if (entry.kind === 'resume' || entry.kind === 'void') return false;
    if ('launch' in entry && entry.launch !== null && gone.has(entry.launch)) return false;
    if (resumed === undefined || entry.seq > resumed.seq) return true;
    return entry.kind !== 'failure' && entry.kind !== 'end';
  });
}

/** The launch that is not over: without its `stop`, or with a failure. Null when the last launch that counts is whole. */
export function launchUnderWay(entries: readonly Entry[]): EntryOf<'launch'> | null {
  const standing = standingEntries(entries);
  const last = standing.findLast((entry) => entry.kind === 'launch');
  if (last === undefined) return null;
  const own = standing.filter((entry) => 'launch' in entry && entry.launch === last.launch);
  const stopped = own.some((entry) => entry.kind === 'stop');
  return stopped && !own.some((entry) => entry.kind === 'failure') ? null : last;
}
