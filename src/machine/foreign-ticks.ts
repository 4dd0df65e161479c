/** How much of what others have on their counters they can have run since they were last looked at. Pure but for what it remembers. */
import type { TelemetrySample } from '../journal/telemetry.js';

type Others = NonNullable<TelemetrySample['others']>;

/** Two readings of ticks part by so much, as they are not taken at one moment. */
const APART = 2;

const credible = (rise: number, foreign: number): number =>
  rise <= foreign + APART ? rise : Math.max(0, foreign);

/**
 * A process gets the time of its children at once, when it looks for those that ended: a shell that looks for the jobs of an hour would
 * have used more than all CPUs. So no counter is told to rise by more than what everybody but the engine and the harness ran meanwhile.
 */
export class ForeignTicks {
  readonly #known = new Map<number, { name: string; read: number; told: number; foreign: number }>();

  /** The counters as they are told, of readings at which `foreign` ticks were run by others since the machine was started. */
  tell(others: Others, foreign: number): Others {
    const told = this.foresee(others, foreign);
    for (const [at, { pid, name, cpuTicks: read }] of others.entries())
      this.#known.set(pid, { name, read, told: told[at]?.cpuTicks ?? read, foreign });
    return told;
  }

  /** What `tell` would answer. Only one reading of those that are taken at one moment may be told, as each allows a rise. */
  foresee(others: Others, foreign: number): Others {
    return others.map(({ pid, name, cpuTicks }) => {
      const known = this.#known.get(pid);
      // A smaller count is another process under the same number.
      const isNew = known === undefined || known.name !== name || cpuTicks < known.read;
      const told = isNew ? cpuTicks : known.told + credible(cpuTicks - known.read, foreign - known.foreign);
      return { pid, name, cpuTicks: told };
    });
  }
}
