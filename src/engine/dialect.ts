/**
 * The llama-server dialect as the harness speaks it: what it sends to `/completion`, and how it reads `/completion` and `/props`.
 * Pure, so that `verify` reads the stored bodies with the same code that read them live.
 */
import { z } from 'zod';
import { tokensDigest } from '../digest.js';
import { QualifyError } from '../errors.js';
import { type Answer, stagesSchema, type Witness } from '../journal/entries.js';
import { sha256Schema } from '../plan/schema.js';
import type { CompletionRequest } from './engine.js';

const count = z.int().min(0);
const ms = z.number().min(0);

const probabilitySchema = z.looseObject({
  top_logprobs: z.array(z.looseObject({ id: count, logprob: z.number() })),
});

const completionSchema = z.looseObject({
  tokens: z.array(z.int().min(0).max(0xffff_ffff)),
  timings: z.looseObject({
    cache_n: count.nullish(),
    prompt_n: count.nullish(),
    prompt_ms: ms.nullish(),
    prompt_cpu_ms: ms.nullish(),
    predicted_ms: ms.nullish(),
    predicted_cpu_ms: ms.nullish(),
    chunk: count.nullish(),
  }),
  stages: stagesSchema.nullish(),
  logits_sha256: sha256Schema.nullish(),
  logits_nonfinite: count.nullish(),
  chunk: count.nullish(),
  completion_probabilities: z.array(probabilitySchema).nullish(),
});

const propsSchema = z.looseObject({
  nonce: z.string(),
  build_digest: z.string(),
  model: z.looseObject({ sha256: sha256Schema }),
  threads: count,
  isa: z.string(),
  tokenizer_sha256: sha256Schema.nullish(),
  switches: z.record(z.string(), z.string()),
  planted_fault: z.string().nullish(),
  counters: z.record(z.string(), count),
  planted_slowdown_percent: z.number().min(0).nullish(),
});

/** What an answer holds besides the client's clock and the places of its evidence. */
type Completion = Omit<Answer, 'clientMs' | 'request' | 'response'>;

/** Body of POST `/completion`: greedy, of exact length, on one slot, with the control of coldness applied. */
export const completionBody = (request: Omit<CompletionRequest, 'timeoutMs' | 'evidenceName'>): string =>
  JSON.stringify({
    prompt: request.tokens,
    n_predict: request.generatedTokens,
    chunk: request.chunk,
    cache_prompt: request.reuseCache,
    temperature: 0,
    ignore_eos: true,
    return_tokens: true,
    stream: false,
    ...(request.probabilities > 0 && { n_probs: request.probabilities }),
  });

/** The error for a body that is not in the dialect; names the field. */
const malformed = (what: string, error: unknown): QualifyError => {
  const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
  const field = issue === undefined ? 'the body is not JSON' : `${issue.path.join('.')}: ${issue.message}`;
  return new QualifyError(
    'ERR_QUALIFY_ANSWER_MALFORMED',
    `The engine's ${what} is not in its dialect: ${field}.`,
    {
      exit: 'infrastructure',
      cause: error,
    },
  );
};

/** The schemas as parsers, each made by the first who needs it: `verify` reads thousands of answers. */
const parsers = new Map<z.ZodType, z.ZodType>();

function parserOf<T>(schema: z.ZodType<T>): z.ZodType<T> {
  const parser = (parsers.get(schema) ?? z.compile(schema)) as z.ZodType<T>;
  parsers.set(schema, parser);
  return parser;
}

const read = <T>(schema: z.ZodType<T>, what: string, body: string): T => {
  try {
    return parserOf(schema).parse(JSON.parse(body));
  } catch (error) {
    throw malformed(what, error);
  }
};

/**
 * Reads the body of an answer of `/completion`. What the server does not report is null, never zero.
 * @throws QualifyError `ERR_QUALIFY_ANSWER_MALFORMED` (exit 15)
 */
export function readCompletion(body: string): Completion {
  const answer = read(completionSchema, 'answer', body);
  const { tokens, timings, stages, logits_sha256: logitsSha256, logits_nonfinite: nonFiniteLogits } = answer;
  const chunk = timings.chunk ?? answer.chunk;
  return {
    cacheN: timings.cache_n ?? null,
    promptN: timings.prompt_n ?? null,
    promptMs: timings.prompt_ms ?? null,
    promptCpuMs: timings.prompt_cpu_ms ?? null,
    predictedN: tokens.length,
    predictedMs: timings.predicted_ms ?? null,
    predictedCpuMs: timings.predicted_cpu_ms ?? null,
    tokens,
    tokensSha256: tokensDigest(tokens),
    logitsSha256: logitsSha256 ?? null,
    stages: stages ?? {},
    ...(chunk != null && { chunk }),
    ...(nonFiniteLogits != null && { nonFiniteLogits }),
    probabilities: answer.completion_probabilities?.map(({ top_logprobs: top }) =>
      top.map(({ id, logprob }): [number, number] => [id, logprob]),
    ),
  };
}

/** Reads the body of `/props`: the witnesses, and the counters of kernels that ran so far. */
export function readProps(body: string): { witness: Witness; counters: Record<string, number> } {
  const props = read(propsSchema, '/props', body);
  const {
    tokenizer_sha256: tokenizerSha256,
    planted_fault: plantedFault,
    planted_slowdown_percent: planted,
  } = props;
  return {
    witness: {
      nonce: props.nonce,
      buildDigest: props.build_digest,
      modelSha256: props.model.sha256,
      threads: props.threads,
      isa: props.isa,
      ...(tokenizerSha256 != null && { tokenizerSha256 }),
      switches: props.switches,
      ...(plantedFault != null && { plantedFault }),
      ...(typeof planted === 'number' && { plantedSlowdownPercent: planted }),
    },
    counters: props.counters,
  };
}
