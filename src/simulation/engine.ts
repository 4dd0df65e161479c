/**
 * What the simulated engine answers, without the process around it: times by the noise model, a prefix cache that really is one,
 * and outputs that follow from the prompt alone. `verify` makes the same times again.
 */
import { sha256, tokensDigest } from '../digest.js';
import { Stream } from '../plan/stream.js';
import { type SimulatedLaunch, simulatedRates } from './rate.js';

/** What of a request decides the answer. */
interface SimulatedRequest {
  tokens: readonly number[];
  generatedTokens: number;
  chunk: number;
  reuseCache: boolean;
}

interface SimulatedAnswer {
  cacheN: number;
  promptN: number;
  promptMs: number;
  predictedMs: number;
  tokens: number[];
  logitsSha256: string;
}

/** To the nanosecond, as clocks tell it. */
const rounded = (ms: number): number => Math.round(ms * 1e6) / 1e6;

/** Ids that follow from the prompt: the same in every arm, others for every prompt. */
function outputOf(prompt: string, count: number, vocabulary: number): number[] {
  const stream = new Stream(prompt, 'simulated output');
  return Array.from({ length: count }, () => stream.below(vocabulary));
}

/** The engine of one launch: answers requests in their order. */
export class SimulatedEngine {
  readonly counters = { 'simulated.prefill': 0, 'simulated.decode': 0, 'simulated.cache_hits': 0 };
  readonly #rateOf: (shape: string, index: number) => number;
  readonly #vocabulary: number;
  readonly #seen = new Map<string, number>();
  #cached: readonly number[] = [];

  constructor(launch: SimulatedLaunch, vocabulary: number) {
    this.#rateOf = simulatedRates(launch);
    this.#vocabulary = vocabulary;
  }

  answer({ tokens, generatedTokens, chunk, reuseCache }: SimulatedRequest): SimulatedAnswer {
    const cacheN = reuseCache ? this.#reusable(tokens) : 0;
    if (reuseCache) this.#cached = tokens;
    const promptN = tokens.length - cacheN;
    const rate = this.#nextRate(`${tokens.length}/${chunk}`);
    const later = Math.max(0, generatedTokens - 1);
    this.counters['simulated.prefill'] += promptN;
    this.counters['simulated.decode'] += later;
    if (cacheN > 0) this.counters['simulated.cache_hits'] += 1;
    const prompt = tokensDigest(tokens);
    const output = outputOf(prompt, generatedTokens, this.#vocabulary);
    return {
      cacheN,
      promptN,
      promptMs: rounded((1000 * promptN) / rate),
      predictedMs: rounded((1000 * later) / rate),
      tokens: output,
      logitsSha256: sha256(`${prompt} ${output.join(' ')}`),
    };
  }

  /** Tokens at the head of a prompt that the last cached one has too; the last token of a prompt is always evaluated. */
  #reusable(tokens: readonly number[]): number {
    const differs = tokens.findIndex((token, at) => token !== this.#cached[at]);
    return Math.min(differs === -1 ? tokens.length : differs, tokens.length - 1);
  }

  #nextRate(shape: string): number {
    const index = this.#seen.get(shape) ?? 0;
    this.#seen.set(shape, index + 1);
    return this.#rateOf(shape, index);
  }
}
