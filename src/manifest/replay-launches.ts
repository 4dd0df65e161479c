/**
 * Replays the launches: one after the other, each in the environment of its arm; and after each round that the plan looks after, the
 * look. Their order, with those that were lost or void and repeated, is in `replay-order.ts`.
 */
import { standingEntries } from '../analysis/lost-launches.js';
import { ENVIRONMENT_ALLOWED, LAUNCH_VARIABLE } from '../engine/environment.js';
import type { Entry, EntryOf } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import { invalidLine } from './invalid-line.js';
import { replayOrder } from './replay-order.js';
import { replayVoids } from './replay-voids.js';

/** Throws a `QualifyError` (exit `invalid`) at the first launch that the plan does not have there, or not so. */
export function replayLaunches(plan: Plan, entries: readonly Entry[]): void {
  replayOrder(plan, entries);
  replayVoids(plan, entries);
  checkOneAtATime(entries);
  checkLooks(plan, standingEntries(entries));
  for (const entry of entries) {
    if (entry.kind === 'launch') checkEnvironment(plan, entry);
    if (entry.kind === 'ready') checkThreads(plan, entry);
  }
}

/** What is told of a launch once: of two, one would be believed and the other not. */
const ONCE: ReadonlySet<string> = new Set<Entry['kind']>([
  'ready',
  'conditions',
  'load',
  'telemetry',
  'counters',
]);

/** Between the launch and the stop of a process nothing is about another process. */
function checkOneAtATime(entries: readonly Entry[]): void {
  const used = new Set<string>();
  const told = new Set<string>();
  let up: string | null = null;
  for (const entry of entries) {
    if (entry.kind === 'launch') {
      if (up !== null) throw invalidLine(entry, `launches ${entry.launch} while ${up} is up`);
      if (used.has(entry.launch)) throw invalidLine(entry, `launches ${entry.launch} once more`);
      used.add(entry.launch);
      up = entry.launch;
    } else if (entry.kind === 'resume') {
      // The engine went with the session that was killed.
      up = null;
    } else if ('launch' in entry && entry.launch !== null) {
      if (entry.launch !== up) throw invalidLine(entry, `is about ${entry.launch}, which is not up`);
      if (told.has(`${entry.kind} ${entry.launch}`))
        throw invalidLine(entry, `tells ${entry.kind} of ${entry.launch} once more`);
      if (ONCE.has(entry.kind)) told.add(`${entry.kind} ${entry.launch}`);
      if (entry.kind === 'stop') up = null;
    }
  }
}

/** The look follows the last launch of its round at once, unless the session broke there or the journal was cut off there. */
function checkLooks(plan: Plan, entries: readonly Entry[]): void {
  const broken = new Set(entries.filter((entry) => entry.kind === 'failure').map(({ launch }) => launch));
  let launch: EntryOf<'launch'> | undefined;
  for (const [at, entry] of entries.entries()) {
    if (entry.kind === 'launch') launch = entry;
    const isDue =
      entry.kind === 'stop' &&
      launch !== undefined &&
      !broken.has(entry.launch) &&
      launch.position === (plan.rounds[launch.round]?.order.length ?? 0) - 1 &&
      plan.decision.looks.includes(launch.round + 1);
    const next = entries[at + 1];
    const isCutOff = next === undefined || next.kind === 'failure';
    if (isDue && !isCutOff && !(next.kind === 'look' && next.rounds === (launch?.round ?? 0) + 1))
      throw invalidLine(
        entry,
        `ends round ${launch?.round}, after which the plan looks; the journal does not`,
      );
    if (!isDue && next?.kind === 'look') throw invalidLine(next, 'looks where the plan does not');
    if (entry.kind === 'look' && entry.undecided.length === 0 && next?.kind === 'launch')
      throw invalidLine(next, `launches ${next.launch} though no cell was left`);
  }
}

/** The arm's switches with their values, and otherwise only what every engine gets. */
function checkEnvironment(plan: Plan, entry: EntryOf<'launch'>): void {
  const switches = plan.arms.find(({ name }) => name === entry.arm)?.switches ?? {};
  const allowed: readonly string[] = [...ENVIRONMENT_ALLOWED, LAUNCH_VARIABLE];
  for (const [name, value] of Object.entries(switches)) {
    if (entry.environment[name] !== value)
      throw invalidLine(
        entry,
        `launches ${entry.arm} with ${name}=${entry.environment[name]}, planned is ${value}`,
      );
  }
  const mark = entry.environment[LAUNCH_VARIABLE];
  if (mark !== undefined && mark !== entry.nonce)
    throw invalidLine(entry, `launches ${entry.arm} with ${LAUNCH_VARIABLE}=${mark}, which is not its nonce`);
  const stray = Object.keys(entry.environment).find(
    (name) => !Object.hasOwn(switches, name) && !allowed.includes(name),
  );
  if (stray !== undefined)
    throw invalidLine(entry, `launches ${entry.arm} with ${stray}, which no arm asks for`);
}

function checkThreads({ engine }: Plan, entry: EntryOf<'ready'>): void {
  const { threads } = entry.witness;
  if (engine.threads !== undefined && threads !== engine.threads)
    throw invalidLine(entry, `runs on ${threads} threads, planned are ${engine.threads}`);
}
