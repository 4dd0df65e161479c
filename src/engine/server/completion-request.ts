/**
 * What a client may ask for, in llama-server's words (`/completion`) and OpenAI's (`/v1/completions`). The engine decodes
 * greedily; a field that would change the output and is not supported is refused, not ignored.
 */
import { z } from 'zod';
import type { NativeRequest } from '../addon.js';
import { DEFAULT_CHUNK } from '../host-options.js';
import { END_OF_SEQUENCE, tokenize } from '../tokenizer.js';
import { parseBody, ServerError } from './server-error.js';

const DEFAULT_GENERATED = 16;
const GREEDY = 'only greedy decoding is offered: send 0 or leave it out';

const isPart = (part: unknown): boolean =>
  typeof part === 'string' || (Number.isSafeInteger(part) && Number(part) >= 0);

/** One plain loop: a schema for each of thousands of ids takes milliseconds that a client sees and no clock of ours does. */
const promptSchema = z
  .custom<string | (number | string)[]>(
    (value) => typeof value === 'string' || Array.isArray(value),
    'must be text, or an array of token ids and texts',
  )
  .superRefine((prompt, context) => {
    const wrong = typeof prompt === 'string' ? -1 : prompt.findIndex((part) => !isPart(part));
    if (wrong >= 0)
      context.addIssue({
        code: 'custom',
        path: [wrong],
        message: 'must be a token id (0 or more) or a text',
      });
  })
  .refine((prompt) => prompt.length > 0, 'must not be empty');

const unlike = (neutral: number) =>
  z
    .number()
    .refine((value) => value === neutral, `not supported: send ${neutral} or leave it out`)
    .nullish();
const isEmpty = (value: unknown) =>
  value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
const absent = z.unknown().refine(isEmpty, 'not supported: leave it out').optional();

const CHUNK_LIMIT = 1_048_576;
const chunkSchema = z
  .int(`must be a whole number from 1 to ${CHUNK_LIMIT}`)
  .min(1, 'must be 1 or more')
  .max(CHUNK_LIMIT, `must be ${CHUNK_LIMIT} or less`);

/** Fields that both dialects share. */
const sharedShape = {
  prompt: promptSchema,
  temperature: z
    .number()
    .refine((value) => value === 0, GREEDY)
    .nullish(),
  stream: z.boolean().default(false),
  cache_prompt: z.boolean().default(true),
  ignore_eos: z.boolean().default(false),
  chunk: chunkSchema.optional(),
  repeat_penalty: unlike(1),
  presence_penalty: unlike(0),
  frequency_penalty: unlike(0),
  logit_bias: absent,
  grammar: absent,
  json_schema: absent,
  response_format: absent,
  stop: absent,
};

export const completionSchema = z.object({
  ...sharedShape,
  /** -1 fills the context. */
  n_predict: z.int().min(-1).default(DEFAULT_GENERATED),
  return_tokens: z.boolean().default(false),
  n_probs: z.int().min(0).max(100).default(0),
  id_slot: z.int().min(-1).max(0, 'there is one slot, 0').optional(),
});

/** OpenAI's array of texts is a batch of prompts, which must not become one long prompt. */
const isBatch = (prompt: z.infer<typeof promptSchema>): boolean =>
  Array.isArray(prompt) && prompt.length > 1 && prompt.every((part) => typeof part === 'string');

export const openaiSchema = z.object({
  ...sharedShape,
  prompt: promptSchema.refine((prompt) => !isBatch(prompt), 'one prompt a request: send one text'),
  logprobs: z
    .unknown()
    .refine((value) => [null, 0, false].some((neutral) => neutral === value), 'not supported: leave it out')
    .optional(),
  n_probs: unlike(0),
  suffix: absent,
  model: z.string().optional(),
  max_tokens: z.int().min(0).nullish(),
  n: z
    .int()
    .refine((n) => n === 1, 'one completion a request')
    .nullish(),
  best_of: z
    .int()
    .refine((n) => n === 1, 'one completion a request')
    .nullish(),
  echo: z.literal(false, 'not supported').nullish(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
});

interface Limits {
  vocabulary: number;
  contextTokens: number;
}

function promptIds(prompt: z.infer<typeof promptSchema>, vocabulary: number): number[] {
  if (typeof prompt === 'string') return tokenize(prompt);
  const ids: number[] = [];
  prompt.forEach((part, index) => {
    if (typeof part === 'string') {
      for (const id of tokenize(part)) ids.push(id);
    } else if (part >= vocabulary) {
      const message = `prompt[${index}]: id ${part} is beyond the vocabulary of ${vocabulary}`;
      throw new ServerError(400, 'invalid_request_error', message);
    } else {
      ids.push(part);
    }
  });
  if (ids.length === 0) throw new ServerError(400, 'invalid_request_error', 'prompt: must not be empty');
  return ids;
}

function chunkOf(body: number | undefined, header: string | string[] | undefined): number {
  if (body !== undefined || header === undefined) return body ?? DEFAULT_CHUNK;
  const fromHeader = { 'x-qualify-chunk': Number(header) };
  return parseBody(z.object({ 'x-qualify-chunk': chunkSchema }), fromHeader)['x-qualify-chunk'];
}

/**
 * The engine's request for a checked body.
 * @throws ServerError 400 for ids beyond the vocabulary, and for a prompt that does not fit the context with what it is
 * to generate.
 */
export function toNativeRequest(
  body: Pick<
    z.infer<typeof completionSchema>,
    'prompt' | 'n_predict' | 'cache_prompt' | 'ignore_eos' | 'chunk'
  >,
  header: string | string[] | undefined,
  limits: Limits,
): NativeRequest {
  const ids = promptIds(body.prompt, limits.vocabulary);
  const room = limits.contextTokens - ids.length;
  const generatedTokens = body.n_predict === -1 ? Math.max(0, room) : body.n_predict;
  if (room < generatedTokens || room < 0) {
    const message =
      `prompt: ${ids.length} tokens and ${generatedTokens} to generate exceed the context of ${limits.contextTokens}; ` +
      'shorten the prompt or start the server with a larger --context';
    const details = { n_prompt_tokens: ids.length, n_ctx: limits.contextTokens };
    throw new ServerError(400, 'exceed_context_size_error', message, details);
  }
  return {
    tokens: Int32Array.from(ids),
    generatedTokens,
    chunk: chunkOf(body.chunk, header),
    reuseCache: body.cache_prompt,
    stopTokens: body.ignore_eos ? [] : [END_OF_SEQUENCE],
  };
}
