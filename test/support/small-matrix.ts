/** Matrices of engines that answer in milliseconds: on a model that nobody reads, by a protocol that holds on a busy machine. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Limits under which nothing that a machine does voids a launch: busy ones, warm ones and small ones run the tests too. */
export const borne = {
  ...{ foreignCpuShare: 1, swapIns: 1e9, majorFaults: 1e9, memoryPressure: 1 },
  ...{ throttles: 1e9, clockShare: 1, foreignGpuProcesses: 1e9 },
};

const protocol = {
  warmups: 1,
  // The median of three bears that one of them was stalled.
  samples: 3,
  looks: [6],
  clock: 'cpu',
  nullRounds: 0,
  invalidation: borne,
};

/** What a matrix of the tests says for itself. */
export interface SmallMatrix {
  title: string;
  /** Of the model: every token id of a prompt is below it. */
  vocabulary: number;
  /** A number is prompt tokens in chunks of 32. */
  cells: readonly (number | { promptTokens: number; chunk: number })[];
  arms: Record<string, object>;
  /** Laid over the protocol of all. */
  protocol: Record<string, unknown>;
  /** Per cent that the head may lose in prefill. */
  budget: number;
  engine?: object;
}

/** Writes the matrix `name` and its model into `folder`; answers the path of the matrix, `file` there. */
export function writeSmallMatrix(folder: string, file: string, name: string, matrix: SmallMatrix): string {
  const model = join(folder, 'model.gguf');
  writeFileSync(model, 'a model that nobody reads');
  const { title, vocabulary, cells, arms, budget, engine } = matrix;
  const path = join(folder, file);
  const whole = {
    schemaVersion: 1,
    name,
    title,
    model: { path: model, vocabulary },
    ...(engine && { engine }),
    cells: cells.map((cell) => (typeof cell === 'number' ? { promptTokens: cell, chunk: 32 } : cell)),
    arms,
    protocol: { ...protocol, ...matrix.protocol },
    budgets: { prefill: budget },
  };
  writeFileSync(path, JSON.stringify(whole));
  return path;
}
