/**
 * Replays which rounds were void: those that telemetry voids by the rule, and all of them. Whoever could void a round that was fine could
 * measure until the numbers please, and so could whoever chose among those that telemetry voids.
 */
import { isDeepStrictEqual } from 'node:util';
import { dueVoid } from '../analysis/void-rounds.js';
import type { Entry } from '../journal/entries.js';
import type { Plan } from '../plan/schema.js';
import { invalidLine } from './invalid-line.js';

/** What the rule reads; no sample is among them. */
const READ: ReadonlySet<Entry['kind']> = new Set<Entry['kind']>([
  ...(['launch', 'load', 'telemetry', 'stop', 'failure', 'resume', 'void', 'look', 'end'] as const),
]);

/**
 * Throws a `QualifyError` (exit `invalid`) at the first round that is void and should stand, or the other way round. Whether a round is
 * void follows from its own entries and the voids so far, so that a journal of any length is gone through once.
 */
export function replayVoids(plan: Plan, entries: readonly Entry[]): void {
  const voids: Entry[] = [];
  let ofRound: Entry[] = [];
  let round = -1;
  for (const entry of entries) {
    if (!READ.has(entry.kind)) continue;
    if (decidesOfVoid(entry)) requireDue(entry, dueVoid(plan, [...voids, ...ofRound]));
    if (entry.kind === 'launch' && entry.round !== round) {
      round = entry.round;
      ofRound = [];
    }
    (entry.kind === 'void' ? voids : ofRound).push(entry);
  }
}

function requireDue(entry: Entry, due: ReturnType<typeof dueVoid>): void {
  if (entry.kind === 'void') {
    const { round, codes } = entry;
    if (!isDeepStrictEqual({ round, codes }, due))
      throw invalidLine(entry, `voids round ${round} for ${codes.join(', ')}; by the rule ${told(due)}`);
  } else if (due !== null) throw invalidLine(entry, `goes on after round ${due.round}, but ${told(due)}`);
}

/** A void entry, and whatever may follow only when none was due. */
const decidesOfVoid = (entry: Entry): boolean =>
  entry.kind === 'void' ||
  entry.kind === 'launch' ||
  entry.kind === 'look' ||
  (entry.kind === 'end' && entry.complete);

const told = (due: ReturnType<typeof dueVoid>): string =>
  due === null ? 'it stands' : `it is void for ${due.codes.join(', ')}`;
