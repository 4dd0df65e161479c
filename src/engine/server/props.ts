/** The body of `GET /props`: what the engine says it is. Written by the server, read by the embedded adapter. */
import { z } from 'zod';
import { sha256Schema } from '../../plan/schema.js';

const count = z.number().min(0);

export const propsSchema = z.object({
  /** The launch's nonce, echoed. */
  nonce: z.string(),
  /** Digest of the build, as the launch named it; `build_info` carries it for llama-server's clients. */
  build_digest: z.string(),
  build_info: z.string(),
  model_path: z.string(),
  model: z.object({
    path: z.string(),
    sha256: sha256Schema,
    size_bytes: count,
    architecture: z.string(),
    name: z.string(),
    vocabulary: z.int().min(2),
  }),
  /** Over everything of the model's metadata that makes tokens of text; see `tokenizerDigest`. */
  tokenizer_sha256: sha256Schema,
  n_ctx: z.int().min(1),
  total_slots: z.literal(1),
  isa: z.string(),
  threads: z.int().min(1),
  cpus: z.array(z.int().min(0)).nullable(),
  cache_slots: z.int().min(0),
  /** 0 unless the engine was told to be slower than it is. */
  planted_slowdown_percent: z.number().min(0),
  /** Effective value of every switch the engine knows. */
  switches: z.record(z.string(), z.string()),
  /** The fault that was planted into the engine, or `none`. */
  planted_fault: z.string(),
  /** Times each kernel really ran since the engine opened. */
  counters: z.record(z.string(), count),
  /** Bytes held besides the mapped file, by kind. */
  memory: z.record(z.string(), count),
  default_generation_settings: z.object({
    n_ctx: z.int(),
    n_predict: z.int(),
    temperature: z.literal(0),
    chunk: z.int(),
    cache_prompt: z.boolean(),
  }),
  bos_token: z.string(),
  eos_token: z.string(),
});

export type Props = z.infer<typeof propsSchema>;
