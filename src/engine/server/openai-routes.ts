/** `POST /v1/completions` and `GET /v1/models`, in OpenAI's dialect. */
import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { NativeResult } from '../addon.js';
import { Detokenizer, detokenize } from '../tokenizer.js';
import { openaiSchema, toNativeRequest } from './completion-request.js';
import { openEventStream } from './event-stream.js';
import { runRequest, timings } from './run-request.js';
import type { ServedEngine } from './served-engine.js';
import { errorBody, parseBody, ServerError } from './server-error.js';

const DEFAULT_MAX_TOKENS = 16;

function usage(result: NativeResult) {
  const prompt = result.cacheN + result.promptN;
  return {
    prompt_tokens: prompt,
    completion_tokens: result.tokens.length,
    total_tokens: prompt + result.tokens.length,
    prompt_tokens_details: { cached_tokens: result.cacheN },
  };
}

const finishReason = (result: NativeResult) => (result.stopReason === 'stop' ? 'stop' : 'length');
const nowSeconds = () => Math.floor(Date.now() / 1000);

export function registerOpenai(app: FastifyInstance, served: ServedEngine): void {
  app.get('/v1/models', async () => ({
    object: 'list',
    data: [
      {
        id: served.modelName,
        object: 'model',
        created: nowSeconds(),
        owned_by: 'qualify',
        meta: { n_vocab: served.open.engine.vocabulary, n_ctx: served.open.engine.contextTokens },
      },
    ],
  }));

  app.post('/v1/completions', async (request, reply) => {
    const { engine } = served.open;
    const body = parseBody(openaiSchema, request.body);
    const asked = { ...body, n_predict: body.max_tokens ?? DEFAULT_MAX_TOKENS };
    const native = toNativeRequest(asked, request.headers['x-qualify-chunk'], engine);
    const head = {
      id: `cmpl-${randomUUID()}`,
      object: 'text_completion',
      created: nowSeconds(),
      model: served.modelName,
      system_fingerprint: served.props().build_info,
    };
    const choice = (text: string, reason: string | null) => ({
      index: 0,
      text,
      logprobs: null,
      finish_reason: reason,
    });
    if (!body.stream) {
      const result = await runRequest(served, native, reply.raw, null);
      const choices = [choice(detokenize(result.tokens), finishReason(result))];
      return { ...head, choices, usage: usage(result), timings: timings(result) };
    }
    const events = openEventStream(reply);
    const text = new Detokenizer();
    try {
      const result = await runRequest(served, native, reply.raw, (token) => {
        events.send({ ...head, choices: [choice(text.push(token), null)] });
      });
      events.send({ ...head, choices: [choice(text.end(), finishReason(result))] });
      if (body.stream_options?.include_usage) {
        events.send({ ...head, choices: [], usage: usage(result), timings: timings(result) });
      }
    } catch (error) {
      events.send(
        errorBody(error instanceof ServerError ? error : new ServerError(500, 'server_error', String(error))),
      );
    }
    events.end('[DONE]');
    return reply;
  });
}
