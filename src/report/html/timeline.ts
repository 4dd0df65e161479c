/** A session as it went: every launch in order, and what the machine did meanwhile. No rates are in it. */
import { lostLaunches, voidRounds } from '../../analysis/lost-launches.js';
import type { Entry, EntryOf } from '../../journal/entries.js';
import { entryOf } from '../context.js';

/** One process, from its start to its end. Null is what nobody saw. */
export interface TimedLaunch {
  launch: string;
  arm: string;
  /** From 0. */
  round: number;
  position: number;
  /** Minutes since the first launch, without the time between an interruption and its end. */
  fromMinutes: number;
  toMinutes: number;
  /** Why it counts for nothing: an interruption ended it, or telemetry voided its round. Null when it counts. */
  left: 'lost' | 'void' | null;
  clockMhz: { low: number; median: number; high: number } | null;
  highestC: number | null;
  highestLoad: number | null;
  /** Percent of the machine that others used. */
  othersPercent: number | null;
}

/** Something that is not a launch: a look, a void round, a resumption, the end, a failure. */
interface TimedEvent {
  atMinutes: number;
  text: string;
}

export interface Timeline {
  launches: TimedLaunch[];
  events: TimedEvent[];
}

const inLaunch = (entries: readonly Entry[], launch: string): Entry[] =>
  entries.filter((entry) => 'launch' in entry && entry.launch === launch);

function eventText(entry: Entry): string | null {
  if (entry.kind === 'look') return `look ${entry.rounds}`;
  if (entry.kind === 'resume') return 'resumed';
  if (entry.kind === 'void') return `round ${entry.round + 1} void`;
  if (entry.kind === 'failure') return entry.code;
  if (entry.kind === 'end' && !entry.complete) return 'cut short';
  return null;
}

/** Reads the timeline from a journal. */
export function timelineOf(entries: readonly Entry[]): Timeline {
  const started = entries.filter((entry): entry is EntryOf<'launch'> => entry.kind === 'launch');
  const zero = BigInt(started[0]?.atNs ?? entries[0]?.atNs ?? '0');
  const minutes = ({ atNs }: Entry): number => Number(BigInt(atNs) - zero) / 6e10;
  const left = new Map<string, 'lost' | 'void'>([
    ...voidRounds(entries).flatMap(({ launches }) => launches.map((launch) => [launch, 'void'] as const)),
    ...lostLaunches(entries).map(({ launch }) => [launch, 'lost'] as const),
  ]);
  const launches = started.map((entry): TimedLaunch => {
    const own = inLaunch(entries, entry.launch);
    const telemetry = entryOf(own, 'telemetry');
    const load = entryOf(own, 'load');
    const last = entryOf(own, 'stop') ?? own.at(-1) ?? entry;
    return {
      launch: entry.launch,
      arm: entry.arm,
      round: entry.round,
      position: entry.position,
      fromMinutes: minutes(entry),
      toMinutes: minutes(last),
      left: left.get(entry.launch) ?? null,
      clockMhz: telemetry?.clockMhz ?? null,
      highestC: telemetry?.highestC ?? null,
      highestLoad: telemetry?.highestLoad ?? null,
      othersPercent: load === undefined ? null : 100 * load.foreignCpuShare,
    };
  });
  const events = entries.flatMap((entry): TimedEvent[] => {
    const text = eventText(entry);
    return text === null || minutes(entry) < 0 ? [] : [{ atMinutes: minutes(entry), text }];
  });
  return { launches, events };
}
