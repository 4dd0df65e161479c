/** Simulates scenarios on several threads; the counts do not depend on how many. */
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { Simulated } from '../simulation/goals.js';
import type { Batch } from '../simulation/matrices.js';
import { type Scenario, scenarios } from '../simulation/scenario.js';
import { addTally, emptyTally, outcomes, type Tally } from '../simulation/tally.js';

/** What a worker is given: a scenario by its place in the list, and which matrices of it. */
interface SimulationTask {
  scenario: number;
  batch: Batch;
}

const count = z.int().min(0);
const tallySchema: z.ZodType<Tally> = z.strictObject({
  cells: z.record(z.enum(outcomes), count),
  rounds: count,
  matrices: count,
  matricesPassed: count,
});

interface ManyOptions {
  seed: string;
  /** Matrices of each scenario. */
  matrices: number;
  jobs: number;
  onProgress: (done: number, of: number) => void;
  signal: AbortSignal;
}

const MATRICES_A_TASK = 250;

/** Every matrix of every scenario once, in batches. */
export function tasksOf({ seed, matrices }: Pick<ManyOptions, 'seed' | 'matrices'>): SimulationTask[] {
  return scenarios.flatMap((_, scenario) =>
    Array.from({ length: Math.ceil(matrices / MATRICES_A_TASK) }, (_, part) => {
      const from = part * MATRICES_A_TASK;
      return { scenario, batch: { seed, from, count: Math.min(MATRICES_A_TASK, matrices - from) } };
    }),
  );
}

/** One task after the other on a thread of its own, until `next` has none. */
function workThrough(
  next: () => SimulationTask | undefined,
  done: (task: SimulationTask, tally: Tally) => void,
  signal: AbortSignal,
): Promise<void> {
  const worker = new Worker(new URL('./simulation-worker.js', import.meta.url));
  const work = new Promise<void>((resolve, reject) => {
    let task = next();
    const give = (): void => {
      if (task === undefined) resolve();
      else worker.postMessage(task);
    };
    worker.on('message', (message: unknown) => {
      if (task !== undefined) done(task, tallySchema.parse(message));
      task = next();
      give();
    });
    worker.once('error', reject);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    give();
  });
  return work.finally(() => worker.terminate());
}

/** Tallies of every scenario, in their order. @throws the reason of `signal`. */
export async function simulateMany(options: ManyOptions): Promise<Simulated[]> {
  const tasks = tasksOf(options);
  const tallies = scenarios.map(emptyTally);
  let begun = 0;
  let finished = 0;
  const done = ({ scenario }: SimulationTask, tally: Tally): void => {
    tallies[scenario] = addTally(tallies[scenario] ?? emptyTally(), tally);
    finished += 1;
    options.onProgress(finished, tasks.length);
  };
  const threads = Array.from({ length: Math.min(options.jobs, tasks.length) }, () =>
    workThrough(() => tasks[begun++], done, options.signal),
  );
  await Promise.all(threads);
  return scenarios.map((scenario: Scenario, index) => ({ scenario, tally: tallies[index] ?? emptyTally() }));
}
