/**
 * The embedded engine: the installed harness's native host on a build's `engine.node`. A build folder that holds an executable
 * `serve` brings its own server, started with the same arguments and held to the same dialect.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EvidenceFolder } from '../../journal/evidence.js';
import type { Engine, LaunchSpec, RunningEngine } from '../engine.js';
import { ENGINE_NODE_FLAGS } from '../host-options.js';
import { option, startServer } from './server.js';

const nativeHost = fileURLToPath(new URL('../native-host.js', import.meta.url));

/** What to run, and what is in the folder to prove it by: the file whose digest names the binary. */
export function programOf(buildFolder: string): { command: string; leading: string[]; binary: string } {
  const server = join(buildFolder, 'serve');
  if (existsSync(server)) return { command: server, leading: [], binary: server };
  const addon = join(buildFolder, 'engine.node');
  return {
    command: process.execPath,
    leading: [...ENGINE_NODE_FLAGS, nativeHost, '--addon', addon],
    binary: addon,
  };
}

function serverArguments(spec: LaunchSpec): string[] {
  return [
    ...option('--model', spec.modelPath),
    ...option('--host', '127.0.0.1'),
    ...option('--port', 0),
    ...option('--nonce', spec.nonce),
    ...option('--build-digest', spec.buildDigest),
    ...option('--threads', spec.threads),
    ...option('--cpus', spec.cpus),
    ...option('--context', spec.contextTokens),
    ...option('--plant-slowdown', spec.plantedSlowdownPercent),
    ...spec.arguments,
  ];
}

/** Keeps every body it sends or receives in `evidence`; `signal` ends launches and requests early. */
export class EmbeddedEngine implements Engine {
  readonly name = 'embedded';
  readonly #evidence: EvidenceFolder;
  readonly #signal: AbortSignal | undefined;

  constructor(evidence: EvidenceFolder, signal?: AbortSignal) {
    this.#evidence = evidence;
    this.#signal = signal;
  }

  launch(spec: LaunchSpec): Promise<RunningEngine> {
    const { command, leading } = programOf(spec.buildFolder);
    return startServer(spec, {
      command,
      arguments: [...leading, ...serverArguments(spec)],
      evidence: this.#evidence,
      signal: this.#signal,
    });
  }
}
