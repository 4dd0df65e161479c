/** What is found of a launch in one cell, kept: each look asks again for the launches of the looks before it. */
import type { PlannedCell } from '../plan/schema.js';
import type { Launch } from './observations.js';

/** Findings of one kind, which follow from the launch, the cell and their plan alone. */
export class PerLaunch<T extends object | null> {
  readonly #known = new WeakMap<Launch, Map<PlannedCell, T>>();

  /** What `find` gives, which is asked once for a launch and a cell. */
  of(launch: Launch, cell: PlannedCell, find: () => T): T {
    const ofLaunch = this.#known.get(launch) ?? new Map<PlannedCell, T>();
    const known = ofLaunch.get(cell);
    if (known !== undefined) return known;
    const found = find();
    this.#known.set(launch, ofLaunch.set(cell, found));
    return found;
  }
}
