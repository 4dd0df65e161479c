/** One request through the engine: waits its turn, ends when its client goes, and is counted. */
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { NativeRequest, NativeResult } from '../addon.js';
import type { ServedEngine } from './served-engine.js';
import { ServerError } from './server-error.js';

/** llama-server's `timings`, and the CPU times beside the wall times. */
interface Timings {
  cache_n: number;
  prompt_n: number;
  prompt_ms: number;
  prompt_cpu_ms: number;
  prompt_per_second: number;
  predicted_n: number;
  predicted_ms: number;
  predicted_cpu_ms: number;
  predicted_per_second: number;
}

/** Runs a request to its end. @throws ServerError 503 when it was cancelled, by its client or by a shutdown. */
export async function runRequest(
  served: ServedEngine,
  request: NativeRequest,
  response: ServerResponse,
  onToken: ((token: number) => void) | null,
): Promise<NativeResult> {
  const { engine } = served.open;
  const { id, result } = engine.complete(request, onToken);
  served.inFlight.add(id);
  const cancel = () => {
    if (!response.writableFinished) engine.cancel(id);
  };
  response.once('close', cancel);
  if (response.destroyed) cancel();
  try {
    const done = await result;
    count(served, done);
    if (done.stopReason === 'cancelled')
      throw new ServerError(503, 'unavailable_error', 'the request was cancelled');
    return done;
  } finally {
    served.inFlight.delete(id);
    response.removeListener('close', cancel);
  }
}

function count(served: ServedEngine, result: NativeResult): void {
  const { totals } = served;
  totals.requests += 1;
  if (result.stopReason === 'cancelled') totals.cancelled += 1;
  totals.promptTokens += result.promptN;
  totals.cacheTokens += result.cacheN;
  totals.promptSeconds += result.promptMs / 1000;
  totals.predictedTokens += result.tokens.length;
  totals.predictedSeconds += result.predictedMs / 1000;
}

/** Rate per second, 0 where nothing was timed. */
function perSecond(tokens: number, ms: number): number {
  return tokens > 0 && ms > 0 ? (tokens / ms) * 1000 : 0;
}

/**
 * `predicted_ms` begins when the first token is there, so the rate counts the tokens after it: llama-server's own counts
 * one more.
 */
export function timings(result: NativeResult): Timings {
  return {
    cache_n: result.cacheN,
    prompt_n: result.promptN,
    prompt_ms: result.promptMs,
    prompt_cpu_ms: result.promptCpuMs,
    prompt_per_second: perSecond(result.promptN, result.promptMs),
    predicted_n: result.tokens.length,
    predicted_ms: result.predictedMs,
    predicted_cpu_ms: result.predictedCpuMs,
    predicted_per_second: perSecond(result.tokens.length - 1, result.predictedMs),
  };
}

/** SHA-256 over the bytes of an array of 32-bit values, little-endian as every machine we run on. */
export function sha256Words(words: Int32Array | Float32Array): string {
  return createHash('sha256')
    .update(new Uint8Array(words.buffer, words.byteOffset, words.byteLength))
    .digest('hex');
}
