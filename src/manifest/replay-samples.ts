/** Replays the order of requests within a launch: that of the plan, so that nobody chose what was asked first. */
import type { Entry, EntryOf } from '../journal/entries.js';
import { promptsInOrder } from '../plan/sample-order.js';
import type { Plan } from '../plan/schema.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE } from './run-folder.js';

const purposes = ['warmup', 'sample', 'parity'] as const;

/** Throws a `QualifyError` (exit `invalid`) at the first sample that is not next; a launch that broke off has the first of them. */
export function replaySamples(plan: Plan, entries: readonly Entry[]): void {
  let launch: EntryOf<'launch'> | undefined;
  let due: string[] = [];
  let cell: string | undefined;
  for (const entry of entries) {
    if (entry.kind === 'launch') {
      launch = entry;
      cell = undefined;
    }
    if (entry.kind !== 'sample' || launch === undefined) continue;
    const { round } = launch;
    if (entry.cell !== cell) {
      cell = entry.cell;
      const of = entry.cell;
      due = purposes.flatMap((kind) => promptsInOrder(plan, of, kind, round).map(({ id }) => id));
    }
    const next = due.shift();
    if (entry.prompt === next) continue;
    const expected = next === undefined ? 'no more is planned' : `${next} is next in the plan`;
    throw invalid(JOURNAL_FILE, `line ${entry.seq + 1} asks ${entry.prompt}, but ${expected}`);
  }
}
