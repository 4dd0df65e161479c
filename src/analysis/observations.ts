/** The journal by launch: what was seen of each process, and of its build. */
import type { Entry, EntryOf } from '../journal/entries.js';
import {
  type LostLaunch,
  lostLaunches,
  standingEntries,
  type VoidRound,
  voidRounds,
} from './lost-launches.js';

export type Sample = EntryOf<'sample'>;
export type Build = EntryOf<'build'>;

interface SamplesOfCell extends Record<Sample['purpose'], Sample[]> {
  all: Sample[];
}

/** Everything the journal holds about one process. */
export interface Launch {
  id: string;
  arm: string;
  round: number;
  started: EntryOf<'launch'>;
  ready: EntryOf<'ready'> | undefined;
  control: EntryOf<'control'> | undefined;
  counters: EntryOf<'counters'> | undefined;
  stop: EntryOf<'stop'> | undefined;
  load: EntryOf<'load'> | undefined;
  telemetry: EntryOf<'telemetry'> | undefined;
  conditions: EntryOf<'conditions'> | undefined;
  samples: Sample[];
  /** The same by cell, and there by purpose. */
  samplesByCell: Map<string, SamplesOfCell>;
  failures: EntryOf<'failure'>[];
}

export interface Observations {
  launches: Launch[];
  builds: Build[];
  model: EntryOf<'model'> | undefined;
  /** Failures that belong to no launch. */
  failures: EntryOf<'failure'>[];
  end: EntryOf<'end'> | undefined;
  /** Launches that an interruption ended; nothing of them is in `launches`. */
  lost: LostLaunch[];
  /** Rounds that telemetry voided and that were measured again; nothing of those launches is in `launches`. */
  void: VoidRound[];
  /** The session's first launch, when its round was void: before it nothing could be remembered. */
  voidFirst: Launch | undefined;
}

const newLaunch = (started: EntryOf<'launch'>): Launch => ({
  id: started.launch,
  arm: started.arm,
  round: started.round,
  started,
  ready: undefined,
  control: undefined,
  counters: undefined,
  stop: undefined,
  load: undefined,
  telemetry: undefined,
  conditions: undefined,
  samples: [],
  samplesByCell: new Map(),
  failures: [],
});

function attachSample({ samples, samplesByCell }: Launch, sample: Sample): void {
  samples.push(sample);
  const ofCell = samplesByCell.get(sample.cell) ?? { all: [], warmup: [], sample: [], parity: [] };
  samplesByCell.set(sample.cell, ofCell);
  ofCell.all.push(sample);
  ofCell[sample.purpose].push(sample);
}

function attach(launch: Launch, entry: Entry): void {
  if (entry.kind === 'ready') launch.ready = entry;
  else if (entry.kind === 'control') launch.control = entry;
  else if (entry.kind === 'counters') launch.counters = entry;
  else if (entry.kind === 'stop') launch.stop = entry;
  else if (entry.kind === 'load') launch.load = entry;
  else if (entry.kind === 'telemetry') launch.telemetry = entry;
  else if (entry.kind === 'conditions') launch.conditions = entry;
  else if (entry.kind === 'sample') attachSample(launch, entry);
  else if (entry.kind === 'failure') launch.failures.push(entry);
}

/** Sorts the entries of a journal that count by what they are about. Entries of launches that never began are left out. */
export function observe(entries: readonly Entry[]): Observations {
  const launches = new Map<string, Launch>();
  const seen: Observations = {
    launches: [],
    builds: [],
    model: undefined,
    failures: [],
    end: undefined,
    lost: lostLaunches(entries),
    void: voidRounds(entries),
    voidFirst: undefined,
  };
  for (const entry of standingEntries(entries)) {
    if (entry.kind === 'launch') launches.set(entry.launch, newLaunch(entry));
    else if (entry.kind === 'build') seen.builds.push(entry);
    else if (entry.kind === 'model') seen.model = entry;
    else if (entry.kind === 'end') seen.end = entry;
    else if (entry.kind === 'failure' && entry.launch === null) seen.failures.push(entry);
    else if ('launch' in entry && entry.launch !== null) {
      const launch = launches.get(entry.launch);
      if (launch !== undefined) attach(launch, entry);
    }
  }
  return { ...seen, voidFirst: voidFirstOf(seen.void, entries), launches: [...launches.values()] };
}

function voidFirstOf(again: readonly VoidRound[], entries: readonly Entry[]): Launch | undefined {
  const [name] = again.find(({ round }) => round === 0)?.launches ?? [];
  if (name === undefined) return undefined;
  return observe(entries.filter((entry) => 'launch' in entry && entry.launch === name)).launches[0];
}

/** Launches of an arm in the first `rounds` rounds, by round. */
export const launchesOf = (seen: Observations, arm: string, rounds: number): Launch[] =>
  seen.launches
    .filter((launch) => launch.arm === arm && launch.round < rounds)
    .toSorted((a, b) => a.round - b.round);

/** The build that an arm ran, or undefined when none was made. */
export const buildOf = (seen: Observations, arm: string): Build | undefined =>
  seen.builds.find((build) => build.arms.includes(arm));

/** Samples of a cell in a launch, of one purpose, in order of execution. */
export const samplesOf = (launch: Launch, cell: string, purpose: Sample['purpose']): readonly Sample[] =>
  launch.samplesByCell.get(cell)?.[purpose] ?? NONE;

/** Samples of a cell in a launch, of any purpose, in order of execution. */
export const allSamplesOf = (launch: Launch, cell: string): readonly Sample[] =>
  launch.samplesByCell.get(cell)?.all ?? NONE;

const NONE: readonly Sample[] = [];

/** A launch that ended as it was told to, with nothing gone wrong. */
export const finished = (launch: Launch): boolean =>
  launch.stop !== undefined && launch.stop.how !== 'died' && launch.failures.length === 0;
