/**
 * One kept-alive connection to an engine on loopback, with the client's clock around each exchange. Not `fetch`: its hidden
 * 300 s timeouts would end long prefills, and its clock would hold more than the exchange.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { QualifyError } from '../errors.js';

interface Exchange {
  status: number;
  body: string;
  /** From handing the request to the socket until the last byte of the answer. */
  clientMs: number;
}

/** An answer longer than this is a fault, not an answer. */
const BODY_LIMIT_BYTES = 64 * 1024 * 1024;

const failed = (message: string, cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_EXCHANGE_FAILED', message, { exit: 'infrastructure', cause });

/** Whole body as text, ended by `limit` bytes. */
async function readBody(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response) {
    pieces.push(piece);
    size += piece.length;
    if (size > BODY_LIMIT_BYTES) throw failed(`The engine's answer exceeds ${BODY_LIMIT_BYTES} bytes.`);
  }
  return Buffer.concat(pieces).toString('utf8');
}

export class HttpClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * Sends and waits. `signal` gives up early.
   * @throws QualifyError `ERR_QUALIFY_TIMEOUT` after `timeoutMs`, `ERR_QUALIFY_EXCHANGE_FAILED` when the connection breaks.
   */
  async exchange(
    method: 'GET' | 'POST',
    path: string,
    options: { body?: string; timeoutMs: number; signal?: AbortSignal },
  ): Promise<Exchange> {
    options.signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(Math.ceil(options.timeoutMs));
    const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
    const body = options.body === undefined ? null : Buffer.from(options.body, 'utf8');
    const headers =
      body === null ? {} : { 'content-type': 'application/json', 'content-length': body.length };
    try {
      const began = process.hrtime.bigint();
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const exchange = request(
          { host: '127.0.0.1', port: this.#port, path, method, headers, agent: this.#agent, signal },
          resolve,
        );
        exchange.once('error', reject);
        // Node calls neither an error: the socket is ours from then on, or the request is just over.
        exchange.once('upgrade', (_, socket) => {
          socket.destroy();
          reject(failed(`${method} ${path} failed: the engine switches protocols instead of answering.`));
        });
        exchange.once('close', () =>
          reject(failed(`${method} ${path} failed: the connection ended without an answer.`)),
        );
        exchange.end(body);
      });
      const text = await readBody(response);
      const clientMs = Number(process.hrtime.bigint() - began) / 1e6;
      return { status: response.statusCode ?? 0, body: text, clientMs };
    } catch (cause) {
      if (timeout.aborted) {
        throw new QualifyError(
          'ERR_QUALIFY_TIMEOUT',
          `${method} ${path} took longer than ${options.timeoutMs / 1000} s.`,
          {
            exit: 'infrastructure',
            hint: "The engine hangs, or the matrix's protocol allows too little time.",
            cause,
          },
        );
      }
      if (options.signal?.aborted) throw options.signal.reason;
      if (cause instanceof QualifyError) throw cause;
      throw failed(
        `${method} ${path} failed: ${cause instanceof Error ? cause.message : String(cause)}.`,
        cause,
      );
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
