// Owns how the peer is made to evaluate: one sequence, cold or on what it remembers, greedy, with its own counts of what it did.
// Nothing is estimated: tokens evaluated are those of llama.cpp's token meter, tokens reused those that its state still held.
import { getLlama } from 'node-llama-cpp';

/** The full distribution, best first: greedy decoding takes its first id, as temperature 0 would. */
const DISTRIBUTION = { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0 } };
const GREEDY = { token: true, options: { temperature: 0 } };

/** Tokens that the meter has seen go in: those whose logits were asked for count as output there. */
const metered = ({ tokenMeter }) => tokenMeter.usedInputTokens + tokenMeter.usedOutputTokens;

/** Milliseconds of CPU time of the whole process since `start`. */
function cpuMs(start) {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

export class Evaluator {
  #llama;
  #model;
  #options;
  #context;
  #sequence;
  #batch = 0;
  #evaluated = 0;
  #completions = 0;

  /**
   * Loads a model on the CPU. `options`: `threads`, `contextSize`, and `microBatch`, the most tokens that llama.cpp is given at
   * once, or null to give it whole chunks as its API does.
   */
  static async open(modelPath, options) {
    const llama = await getLlama({
      gpu: false,
      build: 'never',
      logLevel: 'error',
      maxThreads: options.threads,
    });
    const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
    const evaluator = new Evaluator(llama, model, options);
    await evaluator.#useChunk(512);
    return evaluator;
  }

  constructor(llama, model, options) {
    this.#llama = llama;
    this.#model = model;
    this.#options = options;
  }

  get release() {
    return this.#llama.llamaCppRelease.release;
  }

  get vocabulary() {
    return this.#model.fileInfo.metadata.tokenizer.ggml.tokens.length;
  }

  get threads() {
    return this.#context.currentThreads;
  }

  counters() {
    return { 'llama.completions': this.#completions, 'llama.tokens': this.#evaluated };
  }

  /** A context has one size of batch, which is also its micro-batch: another size makes another context. */
  async #useChunk(chunk) {
    const { contextSize, threads, microBatch } = this.#options;
    const batchSize = Math.min(chunk, microBatch ?? chunk);
    if (batchSize === this.#batch) return;
    await this.#context?.dispose();
    this.#context = await this.#model.createContext({ contextSize, batchSize, threads });
    this.#sequence = this.#context.getSequence();
    this.#batch = batchSize;
  }

  /** Evaluates `tokens` after what is there. Answers the greedy next id and, where asked, the `likeliest` ids. */
  async #next(tokens, likeliest) {
    const wanted = { generateNext: likeliest > 0 ? DISTRIBUTION : GREEDY };
    const last = tokens.length - 1;
    const output = await this.#sequence.controlledEvaluate([
      ...tokens.slice(0, last),
      [tokens[last], wanted],
    ]);
    const { token, probabilities } = output[last].next;
    if (likeliest === 0) return { token, top: [] };
    const top = [...probabilities].slice(0, likeliest).filter(([, probability]) => probability > 0);
    return {
      token: top[0][0],
      top: top.map(([id, probability]) => ({ id, logprob: Math.log(probability) })),
    };
  }

  /** Makes the state a prefix of the prompt, empty for a cold run. Answers how many tokens of it were there already. */
  async #prepare(prompt, reuse) {
    const sequence = this.#sequence;
    if (!reuse) {
      await sequence.clearHistory();
      return sequence.nextTokenIndex;
    }
    const before = metered(sequence);
    await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
    return sequence.nextTokenIndex - (metered(sequence) - before);
  }

  /** One completion of exactly `generate` tokens. */
  async complete({ prompt, generate, chunk, reuse, likeliest }) {
    await this.#useChunk(chunk);
    const sequence = this.#sequence;
    const began = performance.now();
    const cpu = process.cpuUsage();
    const before = metered(sequence);
    const cached = await this.#prepare(prompt, reuse);
    let rest = prompt.slice(sequence.nextTokenIndex);
    if (reuse && rest.length > 1) {
      // The state of this architecture cannot be cut, only gone back to: what is to be reused must be kept now.
      await sequence.evaluateWithoutGeneratingNewTokens(rest.slice(0, -1));
      await sequence.takeCheckpoint();
      rest = rest.slice(-1);
    }
    const steps = [await this.#next(rest, likeliest)];
    const promptMs = performance.now() - began;
    const promptCpuMs = cpuMs(cpu);
    const promptN = metered(sequence) - before;
    const first = performance.now();
    const cpuFirst = process.cpuUsage();
    while (steps.length < generate) steps.push(await this.#next([steps.at(-1).token], likeliest));
    const predictedMs = performance.now() - first;
    const predictedCpuMs = cpuMs(cpuFirst);
    this.#completions += 1;
    this.#evaluated += metered(sequence) - before;
    return { steps, cached, promptN, promptMs, promptCpuMs, predictedMs, predictedCpuMs };
  }
}
