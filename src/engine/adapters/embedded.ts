/**
 * The embedded engine: the installed harness's native host on a build's `engine.node`. A build folder that holds an executable
 * `serve` brings its own server, started with the same arguments and held to the same dialect.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { QualifyError } from '../../errors.js';
import type { Answer } from '../../journal/entries.js';
import type { EvidenceFolder } from '../../journal/evidence.js';
import { completionBody, readCompletion, readProps } from '../dialect.js';
import type { CompletionRequest, Engine, LaunchSpec, RunningEngine } from '../engine.js';
import { ENGINE_NODE_FLAGS } from '../host-options.js';
import { engineEnvironment, type Launched, launchServer } from '../launch.js';
import { type LaunchFolder, makeLaunchFolder } from '../launch-folder.js';

const COUNTERS_TIMEOUT_MS = 30_000;
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

const option = (name: string, value: string | number | undefined): string[] =>
  value === undefined ? [] : [name, String(value)];

export function serverArguments(spec: LaunchSpec): string[] {
  return [
    ...option('--model', spec.modelPath),
    ...option('--host', '127.0.0.1'),
    ...option('--port', 0),
    ...option('--nonce', spec.nonce),
    ...option('--build-digest', spec.buildDigest),
    ...option('--threads', spec.threads),
    ...option('--cpus', spec.cpus),
    ...option('--context', spec.contextTokens),
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

  async launch(spec: LaunchSpec): Promise<RunningEngine> {
    const { command, leading } = programOf(spec.buildFolder);
    const folder = makeLaunchFolder();
    const group = {
      command,
      arguments: [...leading, ...serverArguments(spec)],
      environment: engineEnvironment(folder.environment, spec.switches),
      mark: spec.nonce,
      logPath: spec.logPath,
    };
    try {
      const launched = await launchServer(group, spec.readyTimeoutMs, this.#signal);
      return new RunningServer(launched, folder, this.#evidence, this.#signal);
    } catch (error) {
      await folder.remove();
      throw error;
    }
  }
}

class RunningServer implements RunningEngine {
  readonly pid: number;
  readonly port: number;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly readyMs: number;
  readonly witness: Launched['witness'];
  readonly props: string;
  readonly #launched: Launched;
  readonly #folder: LaunchFolder;
  readonly #evidence: EvidenceFolder;
  readonly #signal: AbortSignal | undefined;

  constructor(
    launched: Launched,
    folder: LaunchFolder,
    evidence: EvidenceFolder,
    signal: AbortSignal | undefined,
  ) {
    const { group, port, readyMs, witness, props } = launched;
    this.pid = group.pid;
    this.port = port;
    this.argv = [group.spec.command, ...group.spec.arguments];
    this.environment = group.spec.environment;
    this.readyMs = readyMs;
    this.witness = witness;
    this.props = props;
    this.#launched = launched;
    this.#folder = folder;
    this.#evidence = evidence;
    this.#signal = signal;
  }

  async complete(request: CompletionRequest): Promise<Answer> {
    const { group, client } = this.#launched;
    const body = completionBody(request);
    const sent = this.#evidence.write(`requests/${request.evidenceName}.json`, body);
    const exchange = await group.alive(
      client.exchange('POST', '/completion', { body, timeoutMs: request.timeoutMs, ...this.#abortable() }),
    );
    const received = this.#evidence.write(`responses/${request.evidenceName}.json`, exchange.body);
    if (exchange.status !== 200) {
      throw new QualifyError(
        'ERR_QUALIFY_REQUEST_REFUSED',
        `The engine answers ${exchange.status}: ${exchange.body.slice(0, 300)}`,
        { exit: 'infrastructure', where: received.path },
      );
    }
    return {
      ...readCompletion(exchange.body),
      clientMs: exchange.clientMs,
      request: sent,
      response: received,
    };
  }

  async counters(): Promise<{ counters: Record<string, number>; props: string }> {
    const { group, client } = this.#launched;
    const options = { timeoutMs: COUNTERS_TIMEOUT_MS, ...this.#abortable() };
    const { body } = await group.alive(client.exchange('GET', '/props', options));
    return { counters: readProps(body).counters, props: body };
  }

  async stop(): ReturnType<RunningEngine['stop']> {
    this.#launched.client.close();
    const end = await this.#launched.group.stop();
    await this.#folder.remove();
    return end;
  }

  #abortable(): { signal?: AbortSignal } {
    return this.#signal === undefined ? {} : { signal: this.#signal };
  }
}
