/** `POST /completion`, in llama-server's dialect. */
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { NativeResult } from '../addon.js';
import { Detokenizer, detokenize } from '../tokenizer.js';
import { completionSchema, toNativeRequest } from './completion-request.js';
import { openEventStream } from './event-stream.js';
import { completionProbabilities } from './probabilities.js';
import { runRequest, sha256Words, timings } from './run-request.js';
import type { ServedEngine } from './served-engine.js';
import { errorBody, parseBody, ServerError } from './server-error.js';

type Body = z.infer<typeof completionSchema>;

/** The answer, or the last event of a stream (whose text has been sent already). `chunk` is what the engine was given. */
function finalAnswer(served: ServedEngine, body: Body, chunk: number, result: NativeResult) {
  return {
    index: 0,
    content: body.stream ? '' : detokenize(result.tokens),
    tokens: body.return_tokens && !body.stream ? [...result.tokens] : [],
    id_slot: 0,
    stop: true,
    model: served.modelName,
    tokens_predicted: result.tokens.length,
    tokens_evaluated: result.cacheN + result.promptN,
    tokens_cached: result.cacheN,
    chunk,
    truncated: false,
    stop_type: result.stopReason === 'stop' ? 'eos' : 'limit',
    stopping_word: '',
    timings: timings(result),
    stages: result.stages,
    tokens_sha256: sha256Words(result.tokens),
    logits_sha256: sha256Words(result.logits),
    ...(result.nonFiniteLogits !== undefined && { logits_nonfinite: result.nonFiniteLogits }),
    ...(body.n_probs > 0 && {
      completion_probabilities: completionProbabilities(result, served.open.engine.vocabulary, body.n_probs),
    }),
  };
}

export function registerCompletion(app: FastifyInstance, served: ServedEngine): void {
  app.post('/completion', async (request, reply) => {
    const { engine } = served.open;
    const body = parseBody(completionSchema, request.body);
    const native = toNativeRequest(body, request.headers['x-qualify-chunk'], engine);
    if (!body.stream) {
      return finalAnswer(served, body, native.chunk, await runRequest(served, native, reply.raw, null));
    }
    const events = openEventStream(reply);
    const text = new Detokenizer();
    try {
      const result = await runRequest(served, native, reply.raw, (token) => {
        events.send({ index: 0, content: text.push(token), tokens: [token], id_slot: 0, stop: false });
      });
      const rest = text.end();
      if (rest !== '') events.send({ index: 0, content: rest, tokens: [], id_slot: 0, stop: false });
      events.send(finalAnswer(served, body, native.chunk, result));
    } catch (error) {
      events.send(
        errorBody(error instanceof ServerError ? error : new ServerError(500, 'server_error', String(error))),
      );
    }
    events.end();
    return reply;
  });
}
