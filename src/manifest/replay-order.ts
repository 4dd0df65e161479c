/**
 * Replays the order of launches: that of the plan, where a session that was resumed repeats the launch that was under way, and that one
 * alone, and where a void round is repeated whole. Whoever could call a launch lost that was whole, or repeat one without saying so, could
 * go on until the numbers please. Whether a round is void is in `replay-voids.ts`.
 */
import { isDeepStrictEqual } from 'node:util';
import { failedByItself, MOST_FAILURES } from '../analysis/lost-launches.js';
import type { Entry, EntryOf } from '../journal/entries.js';
import { launchName, type Place, placesOf } from '../plan/launch-name.js';
import type { Plan } from '../plan/schema.js';
import { invalidLine } from './invalid-line.js';

/** After these failures nothing may follow: what was measured before is in doubt. */
export const FINAL_FAILURES: ReadonlySet<string> = new Set(['ERR_QUALIFY_BINARY_CHANGED']);

/** The most resumptions of a session; nobody's patience is so long, and each costs whoever verifies. */
export const MOST_RESUMPTIONS = 1000;

/** What happened since the session began or was resumed, and where in the plan it stands. */
interface Course {
  /** Index of the place whose launch is next. */
  next: number;
  /** The last launch since then, and whether it is over. */
  launch: EntryOf<'launch'> | null;
  stopped: boolean;
  failures: EntryOf<'failure'>[];
  /** Name of the last launch of each place by its index. */
  names: Map<number, string>;
  /** Names of the launches of each place that were lost or void, and of those that failed by themselves. */
  lost: Map<number, string[]>;
  failed: Map<number, string[]>;
  resumptions: number;
}

/** Throws a `QualifyError` (exit `invalid`) at the first launch that is not next, and at a resumption that is not as it says. */
export function replayOrder(plan: Plan, entries: readonly Entry[]): void {
  const places = placesOf(plan);
  const course: Course = {
    ...{ next: 0, launch: null, stopped: false, failures: [], resumptions: 0 },
    ...{ names: new Map(), lost: new Map(), failed: new Map() },
  };
  for (const entry of entries) {
    checkAfterFailure(entry, course.failures.at(-1));
    if (entry.kind === 'launch') {
      checkLaunch(entry, places[course.next], course.lost.get(course.next) ?? []);
      course.names.set(course.next, entry.launch);
      Object.assign(course, { next: course.next + 1, launch: entry, stopped: false });
    }
    if (entry.kind === 'void') repeatRound(entry, places, course);
    if (entry.kind === 'stop' && entry.launch === course.launch?.launch) course.stopped = true;
    if (entry.kind === 'failure') course.failures.push(entry);
    if (entry.kind === 'resume') checkResume(entry, entries, places, course);
  }
}

/** Of a session that broke, the engine is stopped, and it ends incomplete. More follows only once it is resumed. */
function checkAfterFailure(entry: Entry, failure: EntryOf<'failure'> | undefined): void {
  if (failure === undefined || entry.kind === 'resume') return;
  if (entry.kind === 'stop' && entry.launch === failure.launch) return;
  if (entry.kind === 'end' && !entry.complete) return;
  if (entry.kind === 'end') throw invalidLine(entry, `calls the session complete after ${failure.code}`);
  throw invalidLine(entry, `goes on after ${failure.code}, and the session was not resumed`);
}

function checkLaunch(entry: EntryOf<'launch'>, place: Place | undefined, lost: readonly string[]): void {
  const { arm, round, position } = entry;
  if (place === undefined || !isDeepStrictEqual(place, { round, position, arm }))
    throw invalidLine(
      entry,
      `launches ${arm} at place ${position} of round ${round}, which is not next in the plan`,
    );
  const [first] = lost;
  const name = `${first}.${lost.length + 1}`;
  if (first !== undefined && entry.launch !== name)
    throw invalidLine(entry, `launches ${entry.launch}, which repeats ${first} and so is called ${name}`);
}

/** Goes back to the first launch of a void round. */
function repeatRound(entry: EntryOf<'void'>, places: readonly Place[], course: Course): void {
  const { next } = course;
  const ended = places[next - 1]?.round === entry.round && places[next]?.round !== entry.round;
  if (underWay(course) !== null || !ended)
    throw invalidLine(entry, `voids round ${entry.round}, which has not just ended`);
  const first = places.findIndex(({ round }) => round === entry.round);
  for (let at = first; at < next; at += 1)
    course.lost.set(at, [...(course.lost.get(at) ?? []), course.names.get(at) ?? '']);
  Object.assign(course, { next: first, launch: null, stopped: false });
}

function checkResume(
  entry: EntryOf<'resume'>,
  entries: readonly Entry[],
  places: readonly Place[],
  course: Course,
): void {
  course.resumptions += 1;
  if (course.resumptions > MOST_RESUMPTIONS)
    throw invalidLine(entry, `resumes the session once more than ${MOST_RESUMPTIONS} times`);
  const [session] = entries;
  if (session?.kind !== 'session' || entry.machineId !== session.machineId)
    throw invalidLine(entry, 'resumes the session on another machine');
  if (entry.harness.version !== session.harness.version)
    throw invalidLine(
      entry,
      `resumes by qualify ${entry.harness.version} what ${session.harness.version} began`,
    );
  if ((entry.droppedBytes === 0) !== (entry.droppedSha256 === null))
    throw invalidLine(entry, `drops ${entry.droppedBytes} bytes with the SHA-256 ${entry.droppedSha256}`);
  const final = course.failures.find(({ code }) => FINAL_FAILURES.has(code));
  if (final !== undefined) throw invalidLine(entry, `resumes the session after ${final.code}`);

  const under = underWay(course);
  if (under !== null) course.next -= 1;
  const place = places[course.next];
  const names = course.lost.get(course.next) ?? [];
  const unready = place === undefined ? null : launchName(place, names.length + 1);
  if (under !== null ? entry.lost !== under : entry.lost !== null && entry.lost !== unready) {
    const lost = entry.lost ?? 'no launch';
    throw invalidLine(entry, `says that ${lost} was lost, but ${under ?? 'no launch'} was under way`);
  }
  if (entry.lost !== null) {
    course.lost.set(course.next, [...names, entry.lost]);
    checkFailures(entry, entry.lost, course);
  }
  Object.assign(course, { launch: null, stopped: false, failures: [] });
}

/** The launch that an interruption ends: not stopped, or failed. A launch that has its `stop` and did not fail is whole. */
function underWay({ launch, stopped, failures }: Course): string | null {
  if (launch === null) return null;
  const failed = failures.some((failure) => failure.launch === launch.launch);
  return stopped && !failed ? null : launch.launch;
}

/** An engine that fails twice at one place is not asked a third time. */
function checkFailures(entry: EntryOf<'resume'>, launch: string, course: Course): void {
  const code = course.failures.at(-1)?.code ?? null;
  if (!failedByItself({ code })) return;
  const failed = [...(course.failed.get(course.next) ?? []), launch];
  course.failed.set(course.next, failed);
  if (failed.length >= MOST_FAILURES)
    throw invalidLine(entry, `resumes the session after ${failed.join(' and ')} failed`);
}
