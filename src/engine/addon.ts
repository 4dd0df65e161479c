/**
 * The surface of `engine.node`, the thin binding over `native/engine`. Everything that computes runs on threads of the
 * engine, never on the event loop; promises reject with an `Error` whose message names file, offset and tensor where
 * there is one. Loaded by the native host (inside the engine's own process) and by `qualify model …`, never by a session.
 */
export interface EngineAddon {
  /** What this build uses on this CPU. */
  cpu(): { isa: 'avx512' | 'avx2' | 'portable'; features: string[] };
  createModel(
    options: CreateModelOptions,
    onProgress: (doneBytes: number, totalBytes: number) => void,
  ): Promise<CreatedModel>;
  quantizeModel(
    options: QuantizeModelOptions,
    onProgress: (doneBytes: number, totalBytes: number) => void,
  ): Promise<QuantizedModel>;
  /** With `values` it decodes every tensor too, and rejects at the first value that is NaN or infinite. Older addons do not look. */
  inspectModel(path: string, values?: boolean): Promise<ModelDescription>;
  open(path: string, options: OpenOptions): Promise<NativeEngine>;
}

interface CreateModelOptions {
  preset: string;
  /** Type of gate and up; down follows (`rocmfp2` pairs with ROCmFP3 down). */
  experts: string;
  /** Type of attention, indexer, shared experts, embedding and output; null for `q8_0` (in a stress model `f32`). */
  dense: string | null;
  seed: number;
  out: string;
  threads: number;
  /** Unstructured weights, every tensor F32, odd metadata: for correctness against an oracle. */
  stress: boolean;
  /**
   * False writes a model whose keys and indexer vectors are not rounded to FP8 and FP4 (metadata `qualify.key_round_trip`
   * and `qualify.indexer_round_trip`). llama.cpp never rounds them: only on such a file can its logits be compared.
   */
  roundTrips: boolean;
}

interface CreatedModel {
  sizeBytes: number;
  tensors: number;
}

interface QuantizeModelOptions {
  in: string;
  out: string;
  /** Type of the routed experts, as for `createModel`. */
  experts: string;
  /** Type of attention, indexer, shared experts, embedding and output; null keeps them. */
  dense: string | null;
  /** A GGUF of `llama-imatrix` that weighs the errors of the ROCmFP types; null for none. */
  importance: string | null;
  threads: number;
}

export interface QuantizedModel extends CreatedModel {
  quantized: QuantizedTensor[];
}

interface QuantizedTensor {
  name: string;
  from: string;
  to: string;
  fromBytes: number;
  toBytes: number;
  /** Sum of squared differences over sum of squares. */
  nmse: number;
  /** Whether sums of the importance file took part. */
  weighted: boolean;
}

export interface ModelDescription {
  sizeBytes: number;
  alignment: number;
  metadata: Record<string, string | number | boolean | (string | number | boolean)[]>;
  tensors: { name: string; type: string; dimensions: number[]; offsetBytes: number; sizeBytes: number }[];
}

export interface OpenOptions {
  threads: number;
  /** CPUs to pin threads to, one each; null leaves them to the scheduler. */
  cpus: number[] | null;
  /** Longest prompt plus generated tokens. */
  contextTokens: number;
  /** Prefix cache slots (LRU); 0 turns the cache off. */
  cacheSlots: number;
  /** Forces an instruction set for tests; null picks the best. Throws when this CPU lacks it. */
  isa: 'avx512' | 'avx2' | 'portable' | null;
  /** A fault to plant (see `plan/planted-faults.ts`); absent for none. Engines of revisions before it refuse the option. */
  plantedFault?: string;
}

export interface NativeRequest {
  tokens: Int32Array;
  /** 0 evaluates only. */
  generatedTokens: number;
  chunk: number;
  reuseCache: boolean;
  /** Ids that end the output early; empty ignores end of sequence. */
  stopTokens: number[];
}

export interface NativeResult {
  /** Tokens taken from the prefix cache, and evaluated. Their sum is the prompt length. */
  cacheN: number;
  promptN: number;
  promptMs: number;
  promptCpuMs: number;
  predictedMs: number;
  predictedCpuMs: number;
  tokens: Int32Array;
  /** Rows of F32 logits: last prompt position, then one a decode step that followed (generatedTokens rows in all, at least 1). */
  logits: Float32Array;
  /** NaN and infinite values among `logits`; absent from revisions that do not count them. */
  nonFiniteLogits?: number;
  /** Milliseconds of wall time by stage of the prefill. */
  stages: Record<string, number>;
  stopReason: 'limit' | 'stop' | 'cancelled';
}

export interface NativeEngine {
  readonly vocabulary: number;
  readonly contextTokens: number;
  readonly isa: string;
  readonly threads: number;
  /** Effective value of every switch, read once when the engine opened. */
  readonly switches: Record<string, string>;
  /** The fault that is planted, or `none`; absent from revisions that cannot have one. */
  readonly plantedFault?: string;
  /** One request at a time runs; others wait in order. `onToken` sees each generated id as it comes. */
  complete(
    request: NativeRequest,
    onToken: ((token: number) => void) | null,
  ): { id: number; result: Promise<NativeResult> };
  /** Ends a waiting or running request within a chunk; its promise resolves with `cancelled`. */
  cancel(id: number): void;
  /** Times each kernel really ran since the engine opened; with a planted fault, as `fault.struck`, how often that struck. */
  counters(): Record<string, number>;
  /** Raw logits of every position, row-major [tokens, vocabulary]; `reference` runs the fp64 oracle instead of the fast path. */
  logits(
    tokens: Int32Array,
    options: { chunk: number; reference: boolean },
  ): Promise<Float32Array | Float64Array>;
  /** Bytes held besides the mapped file: repacked weights, state, cache. */
  memory(): Record<string, number>;
  close(): void;
}
