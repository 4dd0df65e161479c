/** The engine that a server serves: still loading, or open, with what it is and what it has done. */
import { short } from '../../digest.js';
import { NO_FAULT } from '../../plan/planted-faults.js';
import type { ModelDescription, NativeEngine } from '../addon.js';
import { DEFAULT_CHUNK, type HostOptions } from '../host-options.js';
import { BEGIN_OF_SEQUENCE, detokenize, END_OF_SEQUENCE, tokenizerDigest } from '../tokenizer.js';
import type { Props } from './props.js';
import { ServerError } from './server-error.js';

/** Sums since the start, for `/metrics`. */
interface Totals {
  promptTokens: number;
  promptSeconds: number;
  predictedTokens: number;
  predictedSeconds: number;
  cacheTokens: number;
  requests: number;
  cancelled: number;
}

interface OpenModel {
  engine: NativeEngine;
  description: ModelDescription;
  sha256: string;
}

export class ServedEngine {
  readonly options: HostOptions;
  readonly totals: Totals = {
    promptTokens: 0,
    promptSeconds: 0,
    predictedTokens: 0,
    predictedSeconds: 0,
    cacheTokens: 0,
    requests: 0,
    cancelled: 0,
  };
  /** Ids of requests that wait or run; the first is the one that runs. */
  readonly inFlight = new Set<number>();
  #open: OpenModel | undefined;
  #tokenizerSha256 = '';
  #closing = false;

  constructor(options: HostOptions) {
    this.options = options;
  }

  opened(open: OpenModel): void {
    this.#open = open;
    this.#tokenizerSha256 = tokenizerDigest(open.description.metadata);
  }

  get isClosing(): boolean {
    return this.#closing;
  }

  /** The open engine. @throws ServerError 503 while it loads or closes. */
  get open(): OpenModel {
    if (this.#closing) throw new ServerError(503, 'unavailable_error', 'Shutting down');
    if (this.#open === undefined) throw new ServerError(503, 'unavailable_error', 'Loading model');
    return this.#open;
  }

  /** Takes no more requests and cancels those in flight. */
  beginClosing(): void {
    this.#closing = true;
    for (const id of this.inFlight) this.#open?.engine.cancel(id);
  }

  /** Frees the engine. */
  close(): void {
    this.#open?.engine.close();
  }

  /** Name under which the model is listed. */
  get modelName(): string {
    const name = this.open.description.metadata['general.name'];
    return typeof name === 'string' ? name : 'model';
  }

  props(): Props {
    const { engine, description, sha256 } = this.open;
    const { options } = this;
    return {
      nonce: options.nonce,
      build_digest: options.buildDigest,
      build_info: `qualify-${short(options.buildDigest)}`,
      model_path: options.modelPath,
      model: {
        path: options.modelPath,
        sha256,
        size_bytes: description.sizeBytes,
        architecture: String(description.metadata['general.architecture'] ?? ''),
        name: this.modelName,
        vocabulary: engine.vocabulary,
      },
      tokenizer_sha256: this.#tokenizerSha256,
      n_ctx: engine.contextTokens,
      total_slots: 1,
      isa: engine.isa,
      threads: engine.threads,
      cpus: options.cpus,
      cache_slots: options.cacheSlots,
      planted_slowdown_percent: options.plantedSlowdownPercent,
      switches: engine.switches,
      planted_fault: engine.plantedFault ?? NO_FAULT,
      counters: engine.counters(),
      memory: { ...engine.memory(), process_rss: process.memoryUsage.rss() },
      default_generation_settings: {
        n_ctx: engine.contextTokens,
        n_predict: 16,
        temperature: 0,
        chunk: DEFAULT_CHUNK,
        cache_prompt: true,
      },
      bos_token: detokenize([BEGIN_OF_SEQUENCE]),
      eos_token: detokenize([END_OF_SEQUENCE]),
    };
  }
}
