/** The entry of a thread that simulates matrices: a task in, its tally out. */
import { parentPort } from 'node:worker_threads';
import { z } from 'zod';
import { simulateMatrices } from '../simulation/matrices.js';
import { scenarios } from '../simulation/scenario.js';
import { standardProtocol } from '../simulation/standard-protocol.js';

const count = z.int().min(0);
const taskSchema = z.strictObject({
  scenario: count,
  batch: z.strictObject({ seed: z.string(), from: count, count }),
});

parentPort?.on('message', (message: unknown) => {
  const task = taskSchema.parse(message);
  const scenario = scenarios[task.scenario];
  if (scenario === undefined) throw new RangeError(`there is no scenario ${task.scenario}`);
  parentPort?.postMessage(simulateMatrices(scenario, standardProtocol, task.batch));
});
