/** The simulated engine: a process of the harness's own that makes its times up by the plan's noise model. */
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256 } from '../../digest.js';
import type { EvidenceFolder } from '../../journal/evidence.js';
import type { Plan } from '../../plan/schema.js';
import { simulatedLaunch } from '../../simulation/rate.js';
import type { Engine, LaunchSpec, RunningEngine } from '../engine.js';
import { option, startServer } from './server.js';

const own = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const host = own('../simulated-host.js');
/** What the times are made by. */
const parts = [
  host,
  ...['draw', 'noise', 'rate', 'engine'].map((name) => own(`../../simulation/${name}.js`)),
];

/** The program and what it is made of: there is no binary but our own files. */
export async function readSimulatedHost(): Promise<{ folder: string; host: string; sha256: string }> {
  const lines = await Promise.all(
    parts.map(async (path) => `${sha256(await readFile(path))}  ${basename(path)}\n`),
  );
  return { folder: dirname(host), host, sha256: sha256(lines.join('')) };
}

export class SimulatedEngineAdapter implements Engine {
  readonly name = 'simulated';
  readonly #plan: Plan;
  readonly #evidence: EvidenceFolder;
  readonly #signal: AbortSignal | undefined;

  constructor(plan: Plan, evidence: EvidenceFolder, signal?: AbortSignal) {
    this.#plan = plan;
    this.#evidence = evidence;
    this.#signal = signal;
  }

  launch(spec: LaunchSpec): Promise<RunningEngine> {
    const launch = simulatedLaunch(this.#plan, spec.place);
    return startServer(spec, {
      command: process.execPath,
      arguments: [
        host,
        ...option('--model', spec.modelPath),
        ...option('--port', 0),
        ...option('--nonce', spec.nonce),
        ...option('--build-digest', spec.buildDigest),
        ...option('--threads', spec.threads),
        ...option('--context', spec.contextTokens),
        ...option('--simulation', JSON.stringify(launch)),
      ],
      evidence: this.#evidence,
      signal: this.#signal,
    });
  }
}
