/** A server process of any engine that speaks the dialect: started, asked, read, stopped. */
import { QualifyError } from '../../errors.js';
import type { Answer } from '../../journal/entries.js';
import type { EvidenceFolder } from '../../journal/evidence.js';
import { completionBody, readCompletion, readProps } from '../dialect.js';
import type { CompletionRequest, LaunchSpec, RunningEngine } from '../engine.js';
import { engineEnvironment, type Launched, launchServer } from '../launch.js';
import { type LaunchFolder, makeLaunchFolder } from '../launch-folder.js';

const COUNTERS_TIMEOUT_MS = 30_000;

/** What to start, and what every exchange with it needs. */
interface ServerStart {
  command: string;
  arguments: readonly string[];
  /** Keeps every body that is sent or received. */
  evidence: EvidenceFolder;
  /** Ends launch and requests early. */
  signal: AbortSignal | undefined;
  /** Looks at the process once it has answered, before it counts as launched. Throws when it is not what it should be. */
  examine?: (pid: number) => Promise<void>;
}

/** Starts a server with the environment of its arm and waits until it has shown the launch's nonce. */
export async function startServer(spec: LaunchSpec, start: ServerStart): Promise<RunningEngine> {
  const folder = makeLaunchFolder();
  const group = {
    command: start.command,
    arguments: start.arguments,
    environment: engineEnvironment(folder.environment, spec.switches, spec.inherited),
    mark: spec.nonce,
    logPath: spec.logPath,
  };
  let launched: Launched | undefined;
  try {
    launched = await launchServer(group, spec.readyTimeoutMs, start.signal);
    await start.examine?.(launched.group.pid);
    return new RunningServer(launched, folder, start.evidence, start.signal);
  } catch (error) {
    launched?.client.close();
    await launched?.group.stop();
    await folder.remove();
    throw error;
  }
}

/** An option with its value; nothing where there is no value. */
export const option = (name: string, value: string | number | undefined): string[] =>
  value === undefined ? [] : [name, String(value)];

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
