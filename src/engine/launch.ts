/** Starts one server process of one arm and waits until it has proved that it is the one that was started. */
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import type { Witness } from '../journal/entries.js';
import { readProps } from './dialect.js';
import { INHERITED } from './environment.js';
import { HttpClient } from './http-client.js';
import { type GroupSpec, ProcessGroup } from './process-group.js';

export interface Launched {
  group: ProcessGroup;
  client: HttpClient;
  port: number;
  readyMs: number;
  witness: Witness;
  props: string;
}

const PROPS_TIMEOUT_MS = 30_000;

/** What an engine inherits of an environment: by default of our own. */
export const inheritedVariables = (
  own: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> =>
  Object.fromEntries(
    INHERITED.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const])),
  );

/** The whole environment of an engine: what it inherits, what is of this launch alone, then the arm's switches. */
export function engineEnvironment(
  ofLaunch: Readonly<Record<string, string>>,
  switches: Readonly<Record<string, string>>,
  inherited: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...inherited, ...ofLaunch, ...switches };
}

const listeningSchema = z.looseObject({ event: z.literal('listening'), port: z.unknown() });
const portSchema = z.int().min(1).max(65_535);

/** What the line `{"event":"listening","port":N,…}` says of the port, whatever that is; null for any other line. */
function announced(line: string): { port: unknown } | null {
  if (!line.startsWith('{')) return null;
  try {
    const { success, data } = listeningSchema.safeParse(JSON.parse(line));
    return success && data.port !== undefined ? { port: data.port } : null;
  } catch {
    return null;
  }
}

/** The port of the line `{"event":"listening","port":N,…}`; null for any other line, and for what is no port. */
export const listeningPort = (line: string): number | null =>
  portSchema.safeParse(announced(line)?.port).data ?? null;

const notReady = (spec: GroupSpec, limitMs: number, tail: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_TIMEOUT', `The engine was not ready after ${limitMs / 1000} s.\n${tail}`, {
    exit: 'infrastructure',
    where: spec.logPath,
    hint: "Raise readyTimeoutSeconds in the matrix's protocol, or see the log.",
  });

/**
 * Starts a server that chooses its own port, says so on stdout, and echoes `spec.mark` as its nonce. Nothing is left running
 * when this throws.
 * @throws QualifyError `ERR_QUALIFY_TIMEOUT`, `ERR_QUALIFY_ENGINE_DIED`, `ERR_QUALIFY_WRONG_ENGINE`,
 *   `ERR_QUALIFY_ANSWER_MALFORMED` (all exit 15)
 */
export async function launchServer(
  spec: GroupSpec,
  readyTimeoutMs: number,
  signal?: AbortSignal,
): Promise<Launched> {
  const began = performance.now();
  const group = await ProcessGroup.start(spec);
  let client: HttpClient | undefined;
  try {
    const port = await portWithin(group, readyTimeoutMs, signal);
    client = new HttpClient(port);
    const timeoutMs = Math.min(PROPS_TIMEOUT_MS, readyTimeoutMs);
    const { status, body } = await group.alive(
      client.exchange('GET', '/props', { timeoutMs, ...(signal && { signal }) }),
    );
    if (status !== 200) throw wrongEngine(spec, `/props answers ${status}`);
    const { witness } = readProps(body);
    if (witness.nonce !== spec.mark)
      throw wrongEngine(spec, `it echoes nonce "${witness.nonce.slice(0, 80)}"`);
    return { group, client, port, readyMs: performance.now() - began, witness, props: body };
  } catch (error) {
    client?.close();
    await group.stop();
    throw error;
  }
}

const wrongEngine = (spec: GroupSpec, why: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_WRONG_ENGINE', `What answers is not the engine that was started: ${why}.`, {
    exit: 'infrastructure',
    where: spec.logPath,
    hint: 'Another process may hold the port, or the server does not echo --nonce in /props.',
  });

async function portWithin(
  group: ProcessGroup,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  let stopWaiting = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(notReady(group.spec, limitMs, group.logTail())), limitMs);
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    stopWaiting = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
  });
  try {
    signal?.throwIfAborted();
    const { port } = await Promise.race([group.firstLine(announced), late]);
    const { success, data } = portSchema.safeParse(port);
    if (success) return data;
    throw new QualifyError(
      'ERR_QUALIFY_ANSWER_MALFORMED',
      `The engine announces the port ${JSON.stringify(port).slice(0, 80)}; a port is a whole number from 1 to 65535.`,
      {
        exit: 'infrastructure',
        where: group.spec.logPath,
        hint: 'It must announce the port that it listens on.',
      },
    );
  } finally {
    stopWaiting();
  }
}
