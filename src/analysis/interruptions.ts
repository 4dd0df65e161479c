/** What interruptions of a session mean for its verdict: how many launches may be lost, and what a reader is told. */
import type { Entry } from '../journal/entries.js';
import { launchesIn } from '../plan/rounds.js';
import type { Plan } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';
import { type LostLaunch, lostLaunches, standingEntries } from './lost-launches.js';

/** Launches that may be lost of so many: one, or a tenth. More is trying again until it fits. */
export const bearableLosses = (launches: number): number =>
  Math.max(1, Math.floor(launches * limits.lostShare));

const describe = ({ launch, code }: LostLaunch): string => `${launch} (${code ?? 'killed'})`;

/**
 * Whether too much was lost by the end of a look. Every lost launch counts, whatever ended it and whatever it had shown: whoever
 * stops launches that go badly, or an engine that dies in some, would pass after enough of them.
 */
export function tooManyLost(plan: Plan, lost: readonly LostLaunch[], rounds: number): Finding[] {
  const own = lost.filter((launch) => launch.round < rounds);
  const launches = launchesIn(plan, rounds);
  const most = bearableLosses(launches);
  if (own.length <= most) return [];
  const names = own.map(describe).join(', ');
  const message = `${own.length} launches were lost to interruptions, of ${launches} at most ${most} may be: ${names}; measure again without interruptions`;
  return [finding('launches-lost', message)];
}

/** How often the session was interrupted, and which launches were repeated for it. */
export function resumeWarnings(entries: readonly Entry[]): Finding[] {
  const times = entries.filter((entry) => entry.kind === 'resume').length;
  if (times === 0) return [];
  const lost = lostLaunches(entries);
  const how = times === 1 ? 'once' : `${times} times`;
  const repeated =
    lost.length === 0
      ? 'no launch was lost'
      : `lost and to be repeated whole: ${lost.map(describe).join(', ')}`;
  return [finding('resumed', `the session was interrupted and resumed ${how}; ${repeated}`)];
}

/**
 * Rounds whose launches are not adjacent, because the session was interrupted between them: whole launches stay, whatever the machine did
 * until it went on. Of plans that repeat void rounds only: verdicts of older ones have to come out again as they were.
 */
export function splitRounds(plan: Plan, entries: readonly Entry[]): Finding[] {
  if (plan.decision.voidShare === undefined) return [];
  const resumptions = entries.filter((entry) => entry.kind === 'resume');
  const launches = standingEntries(entries).filter((entry) => entry.kind === 'launch');
  const later = launches.filter(({ round, seq }) =>
    launches.some(
      (earlier) =>
        earlier.round === round && resumptions.some((entry) => earlier.seq < entry.seq && entry.seq < seq),
    ),
  );
  if (later.length === 0) return [];
  const rounds = [...new Set(later.map(({ round }) => round + 1))];
  const names = later.map(({ launch }) => launch).join(', ');
  const message = `round ${rounds.join(', ')}: the session was interrupted between the launches, and ${names} measured later than what came before in the round`;
  return [finding('round-split', message)];
}

interface Label {
  time: string;
  /** Monotonic time of the entry; what passed while nobody measured is not in it. */
  atNs: bigint;
}

function labelOf(entry: Entry): Label | null {
  const atNs = BigInt(entry.atNs);
  if (entry.kind === 'session') return { time: entry.startedAt, atNs };
  if (entry.kind === 'resume') return { time: entry.resumedAt, atNs };
  return entry.kind === 'end' ? { time: entry.finishedAt, atNs } : null;
}

/**
 * Whether the machine's time of day was set back: it fell, or rose by less than the monotonic clock did. Durations are of the monotonic
 * clock and bear it; the times of day in a report do not.
 */
export function clockSetBackWarnings(entries: readonly Entry[]): Finding[] {
  const labels = entries.map(labelOf).filter((label) => label !== null);
  return labels.flatMap((label, at) => {
    const before = labels[at - 1];
    if (before === undefined) return [];
    const wallMs = Date.parse(label.time) - Date.parse(before.time);
    const passedMs = Number(label.atNs - before.atNs) / 1e6;
    if (wallMs >= passedMs - Math.max(limits.setBackMs, passedMs * limits.setBackShare)) return [];
    const seconds = Math.round((passedMs - wallMs) / 1000);
    const between = `between ${before.time} and ${label.time}`;
    const message = `the time of day was set back by about ${seconds} s ${between}: such labels are wrong, durations are of another clock and are not`;
    return [finding('clock-set-back', message)];
  });
}
