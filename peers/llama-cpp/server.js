// Owns the peer's server: llama.cpp behind llama-server's dialect on loopback, as far as qualify speaks it, so that it is launched,
// proved and timed like any other arm. Started by `qualify run`; chooses a free port and says so in one line of JSON on stdout.
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Evaluator } from './evaluator.js';

const BODY_LIMIT = 64 * 1024 * 1024;
const folder = fileURLToPath(new URL('.', import.meta.url));

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    model: text,
    host: { ...text, default: '127.0.0.1' },
    port: { ...text, default: '0' },
    nonce: { ...text, default: '' },
    'build-digest': { ...text, default: '' },
    threads: { ...text, default: String(availableParallelism()) },
    context: { ...text, default: '8192' },
    'micro-batch': text,
  },
});

/** The whole number of an option. Ends the process where it is none. */
function wholeNumber(name) {
  const value = values[name];
  if (value === undefined) return null;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  process.stderr.write(`--${name}: must be a whole number from 1, is ${value}\n`);
  process.exit(64);
}

const options = {
  threads: wholeNumber('threads'),
  contextSize: wholeNumber('context'),
  microBatch: wholeNumber('micro-batch'),
};

async function sha256File(path) {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(piece);
  return hash.digest('hex');
}

/** Files of this package that are mapped into this process now. */
function mappedFiles() {
  const paths = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .map((line) => line.split(/\s+/).slice(5).join(' '));
  return [...new Set(paths.filter((path) => path.startsWith(folder)))].toSorted();
}

/** `haswell` of `libggml-cpu-haswell.so`: the variant that llama.cpp chose for this CPU. */
function variant(paths) {
  const names = paths.map((path) => /^libggml-cpu-(.+)\.so$/.exec(basename(path))?.[1]);
  return names.find((name) => name !== undefined) ?? 'unknown';
}

const allowedCpus = () =>
  /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? null;

class BadRequest extends Error {}

const isCount = (value, least) => Number.isSafeInteger(value) && value >= least;

/** Fields of a request that are read or have the one value that is offered. Any other is refused by name, not ignored. */
const FIXED = { temperature: 0, ignore_eos: true, stream: false };
const READ = ['prompt', 'n_predict', 'chunk', 'cache_prompt', 'n_probs', 'return_tokens'];

function readRequest(body, vocabulary) {
  for (const [name, value] of Object.entries(body)) {
    if (name in FIXED ? value !== FIXED[name] : !READ.includes(name))
      throw new BadRequest(`${name}: not supported here: leave it out`);
  }
  const {
    prompt,
    n_predict: generate,
    chunk = 512,
    cache_prompt: reuse = true,
    n_probs: likeliest = 0,
  } = body;
  if (body.ignore_eos !== true)
    throw new BadRequest('ignore_eos: only outputs of exact length are offered: send true');
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw new BadRequest('prompt: must be an array of token ids');
  const wrong = prompt.findIndex((id) => !isCount(id, 0) || id >= vocabulary);
  if (wrong >= 0) throw new BadRequest(`prompt[${wrong}]: must be a token id below ${vocabulary}`);
  if (!isCount(generate, 1)) throw new BadRequest('n_predict: must be a whole number from 1');
  if (!isCount(chunk, 1)) throw new BadRequest('chunk: must be a whole number from 1');
  if (typeof reuse !== 'boolean') throw new BadRequest('cache_prompt: must be true or false');
  if (!isCount(likeliest, 0)) throw new BadRequest('n_probs: must be a whole number from 0');
  if (prompt.length + generate > options.contextSize)
    throw new BadRequest(`prompt: exceeds the context of ${options.contextSize}`);
  return { prompt, generate, chunk, reuse, likeliest };
}

let peer;
let identity;

const props = () => ({
  nonce: values.nonce,
  build_digest: values['build-digest'],
  build_info: `llama.cpp ${peer.release}`,
  model: identity.model,
  n_ctx: options.contextSize,
  total_slots: 1,
  isa: variant(identity.libraries.map(({ path }) => path)),
  threads: peer.threads,
  cpus: allowedCpus(),
  micro_batch: options.microBatch,
  libraries: identity.libraries,
  switches: {},
  counters: peer.counters(),
});

async function complete(body) {
  const asked = readRequest(body, peer.vocabulary);
  const done = await peer.complete(asked);
  const tokens = done.steps.map(({ token }) => Number(token));
  return {
    content: '',
    tokens,
    stop_type: 'limit',
    truncated: false,
    timings: {
      cache_n: done.cached,
      prompt_n: done.promptN,
      prompt_ms: done.promptMs,
      prompt_cpu_ms: done.promptCpuMs,
      predicted_n: tokens.length,
      predicted_ms: done.predictedMs,
      predicted_cpu_ms: done.predictedCpuMs,
    },
    ...(asked.likeliest > 0 && {
      completion_probabilities: done.steps.map(({ token, top }) => ({
        id: Number(token),
        logprob: top[0].logprob,
        top_logprobs: top,
      })),
    }),
  };
}

async function readBody(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > BODY_LIMIT) throw new BadRequest(`the body exceeds ${BODY_LIMIT} bytes`);
    pieces.push(piece);
  }
  try {
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // Told below.
  }
  throw new BadRequest('the body is no JSON object');
}

/** One request at a time computes; others wait in order. */
let turn = Promise.resolve();
function inTurn(work) {
  const result = turn.then(work);
  turn = result.catch(() => {});
  return result;
}

async function route(request) {
  const name = `${request.method} ${request.url}`;
  if (peer === undefined) return [503, { error: { message: 'Loading model' } }];
  if (name === 'GET /health') return [200, { status: 'ok' }];
  if (name === 'GET /props') return [200, props()];
  if (name !== 'POST /completion') return [404, { error: { message: `there is no ${name}` } }];
  const body = await readBody(request);
  return [200, await inTurn(() => complete(body))];
}

const server = createServer(async (request, response) => {
  const [status, body] = await route(request).catch((error) => [
    error instanceof BadRequest ? 400 : 500,
    { error: { message: error.message } },
  ]);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
server.keepAliveTimeout = 600_000;
server.requestTimeout = 0;

// Ends with the harness: stdin is a pipe whose other end goes when the harness does.
process.stdin.resume().on('close', () => process.exit(0));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0));

server.listen(Number(values.port), values.host, async () => {
  const sha256 = await sha256File(values.model);
  const opened = await Evaluator.open(values.model, options);
  const libraries = await Promise.all(
    mappedFiles().map(async (path) => ({ path: relative(folder, path), sha256: await sha256File(path) })),
  );
  identity = { model: { path: values.model, sha256, size_bytes: statSync(values.model).size }, libraries };
  peer = opened;
  const { port } = server.address();
  process.stdout.write(`${JSON.stringify({ event: 'listening', port, pid: process.pid })}\n`);
});
