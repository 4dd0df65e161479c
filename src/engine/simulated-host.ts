/**
 * The entry of the simulated engine's process: a server like any other, with nonce, witnesses and counters, that computes nothing.
 * It waits as long as it claims to have worked. Ends on SIGTERM, on SIGINT, and when the process that started it is gone.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { sha256 } from '../digest.js';
import { EXIT } from '../exit-codes.js';
import { SimulatedEngine } from '../simulation/engine.js';
import { simulatedLaunchSchema } from '../simulation/rate.js';
import { watchParent } from './parent-watch.js';
import { simulatedModelSchema } from './simulated-model.js';

const isIds = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 0 && value.every((id) => Number.isSafeInteger(id) && id >= 0);

/** The part of the dialect that decides; the rest of a request is the same for every engine. */
const bodySchema = z.looseObject({
  prompt: z.custom<number[]>(isIds, 'must be an array of token ids'),
  n_predict: z.int().min(0).max(65_536),
  chunk: z.int().min(1),
  cache_prompt: z.boolean(),
});

const text = { type: 'string' } as const;
const { values: options } = parseArgs({
  options: {
    model: text,
    port: text,
    nonce: text,
    'build-digest': text,
    threads: text,
    cpus: text,
    context: text,
    simulation: text,
  },
});

function fail(message: string): never {
  process.stderr.write(`engine: ${message}\n`);
  process.exit(EXIT.usage);
}

const model = readFileSync(options.model ?? fail('--model is missing'), 'utf8');
const { vocabulary } = simulatedModelSchema.parse(JSON.parse(model));
const launch = simulatedLaunchSchema.parse(JSON.parse(options.simulation ?? fail('--simulation is missing')));
const engine = new SimulatedEngine(launch, vocabulary);

const props = (): object => ({
  nonce: options.nonce ?? '',
  build_digest: options['build-digest'] ?? '',
  model: { sha256: sha256(model), path: options.model },
  threads: Number(options.threads ?? 1),
  isa: 'simulated',
  switches: {},
  counters: engine.counters,
});

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/** Timers may fire early by less than a millisecond: a claim must not be longer than the wait. */
async function waitUntil(due: number): Promise<void> {
  for (let left = due - performance.now(); left > 0; left = due - performance.now()) await sleep(left);
}

async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const began = performance.now();
  const body = bodySchema.safeParse(JSON.parse(await bodyOf(request)));
  if (!body.success) return send(response, 400, { error: { message: z.prettifyError(body.error) } });
  const { prompt, n_predict: generatedTokens, chunk, cache_prompt: reuseCache } = body.data;
  const answer = engine.answer({ tokens: prompt, generatedTokens, chunk, reuseCache });
  await waitUntil(began + answer.promptMs + answer.predictedMs);
  send(response, 200, {
    content: '',
    tokens: answer.tokens,
    timings: {
      cache_n: answer.cacheN,
      prompt_n: answer.promptN,
      prompt_ms: answer.promptMs,
      prompt_cpu_ms: answer.promptMs,
      predicted_n: answer.tokens.length,
      predicted_ms: answer.predictedMs,
      predicted_cpu_ms: answer.predictedMs,
    },
    stages: { simulated: answer.promptMs },
    logits_sha256: answer.logitsSha256,
  });
}

/** One request at a time, as an engine with one slot. */
let turn: Promise<unknown> = Promise.resolve();

const server = createServer((request, response) => {
  if (request.url === '/health') return send(response, 200, { status: 'ok' });
  if (request.url === '/props') return send(response, 200, props());
  if (request.url !== '/completion') return send(response, 404, { error: { message: 'not found' } });
  turn = turn
    .then(() => complete(request, response))
    .catch((error: unknown) => send(response, 400, { error: { message: String(error) } }));
});

const end = (): never => process.exit(0);
watchParent(end);
process.on('SIGTERM', end);
process.on('SIGINT', end);
server.keepAliveTimeout = 600_000;
server.listen(Number(options.port ?? 0), '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ event: 'listening', port, pid: process.pid })}\n`);
});
