/** Replays what was asked in a launch: cells that the last look left open, in the order of the plan. Nobody chose what was asked, or first. */
import type { Entry } from '../journal/entries.js';
import { promptsInOrder } from '../plan/sample-order.js';
import type { Plan } from '../plan/schema.js';
import { invalid } from './invalid.js';
import { invalidLine } from './invalid-line.js';
import { JOURNAL_FILE } from './run-folder.js';

/**
 * Throws a `QualifyError` (exit `invalid`) at the first sample of a cell that a look before it settled, or that the plan has before
 * one that was asked already. What is missing, or not of the plan, is for others to say: an open cell that is left out is `not-measured`.
 */
export function replaySamples(plan: Plan, entries: readonly Entry[]): void {
  let round = 0;
  let last = new Map<string, number>();
  let orders = new Map<string, string[]>();
  let settled: readonly string[] = [];
  for (const entry of entries) {
    if (entry.kind === 'look')
      settled = plan.cells.flatMap(({ id }) => (entry.undecided.includes(id) ? [] : [id]));
    if (entry.kind === 'sample' && settled.includes(entry.cell))
      throw invalidLine(entry, `asks ${entry.prompt}, of a cell that was settled at the look before`);
    if (entry.kind === 'launch') {
      round = entry.round;
      last = new Map();
      orders = new Map();
    }
    if (entry.kind !== 'sample' || entry.purpose !== 'sample') continue;
    const order =
      orders.get(entry.cell) ?? promptsInOrder(plan, entry.cell, 'sample', round).map(({ id }) => id);
    orders.set(entry.cell, order);
    const place = order.indexOf(entry.prompt);
    const before = last.get(entry.cell) ?? -1;
    if (place < 0) continue;
    if (place <= before) {
      const why = `asks ${entry.prompt} after ${order[before]}; planned is ${order.join(' ')}`;
      throw invalid(JOURNAL_FILE, `line ${entry.seq + 1} ${why}`);
    }
    last.set(entry.cell, place);
  }
}
