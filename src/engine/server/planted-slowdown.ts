/**
 * A planted slowdown: an engine whose every prefill and decode takes so many percent longer, by both clocks. It is there to be
 * found: a harness that does not call it slower would not call a real one slower either. What it is, it says in `/props`.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { NativeEngine, NativeRequest, NativeResult } from '../addon.js';
import type { Spin } from './spinner.js';

/** Counter of completions that were slowed down. */
const PLANTED_COUNTER = 'planted.slowdown';

/** Milliseconds: of the clock on the wall, and of CPU time by all threads together. */
export interface Times {
  wallMs: number;
  cpuMs: number;
}

/** What takes the time that is added. `take` answers what it really took. */
export interface TimeTaker {
  take(times: Times): Promise<Times>;
  close(): void;
}

/** What each of `threads` is asked for, so that all together take the times, from `beganNs` of the monotonic clock on. */
export const spinOf = ({ wallMs, cpuMs }: Times, beganNs: bigint, threads: number): Spin => ({
  cpuMs: cpuMs / threads,
  untilNs: beganNs + BigInt(Math.round(wallMs * 1e6)),
});

/** As many threads as the engine computes on, so that CPU time grows by the same share as wall time. */
class Spinners implements TimeTaker {
  readonly #workers: Worker[];

  constructor(threads: number) {
    const script = new URL('./spinner.js', import.meta.url);
    this.#workers = Array.from({ length: threads }, () => new Worker(script));
    for (const worker of this.#workers) worker.unref();
  }

  /** Keeps all of them busy. Answers what it really took: on a machine that others use it may be more. */
  async take(times: Times): Promise<Times> {
    const began = process.hrtime.bigint();
    const spin = spinOf(times, began, this.#workers.length);
    const used = await Promise.all(
      this.#workers.map(async (worker): Promise<number> => {
        const answered = once(worker, 'message');
        worker.postMessage(spin);
        const [usedMs] = await answered;
        return z.number().parse(usedMs);
      }),
    );
    return {
      wallMs: Number(process.hrtime.bigint() - began) / 1e6,
      cpuMs: used.reduce((sum, ms) => sum + ms, 0),
    };
  }

  close(): void {
    for (const worker of this.#workers) void worker.terminate();
  }
}

/** `engine`, slower by a known share. Requests are meant to come one at a time: the next may begin while one is stretched. */
export class SlowedEngine implements NativeEngine {
  readonly #engine: NativeEngine;
  readonly #share: number;
  readonly #spinners: TimeTaker;
  #slowed = 0;

  constructor(engine: NativeEngine, percent: number, spinners: TimeTaker = new Spinners(engine.threads)) {
    this.#engine = engine;
    this.#share = percent / 100;
    this.#spinners = spinners;
  }

  get vocabulary(): number {
    return this.#engine.vocabulary;
  }
  get contextTokens(): number {
    return this.#engine.contextTokens;
  }
  get isa(): string {
    return this.#engine.isa;
  }
  get threads(): number {
    return this.#engine.threads;
  }
  get switches(): Record<string, string> {
    return this.#engine.switches;
  }

  complete(
    request: NativeRequest,
    onToken: ((token: number) => void) | null,
  ): { id: number; result: Promise<NativeResult> } {
    const { id, result } = this.#engine.complete(request, onToken);
    return { id, result: result.then((done) => this.#stretch(done)) };
  }

  /** The result with what was really spent added to its times, and to the stages of the prefill as one of its own. */
  async #stretch(done: NativeResult): Promise<NativeResult> {
    if (done.stopReason === 'cancelled') return done;
    const prompt = await this.#take(done.promptMs, done.promptCpuMs);
    const predicted = await this.#take(done.predictedMs, done.predictedCpuMs);
    this.#slowed += 1;
    return {
      ...done,
      promptMs: done.promptMs + prompt.wallMs,
      promptCpuMs: done.promptCpuMs + prompt.cpuMs,
      predictedMs: done.predictedMs + predicted.wallMs,
      predictedCpuMs: done.predictedCpuMs + predicted.cpuMs,
      stages: { ...done.stages, planted: prompt.wallMs },
    };
  }

  async #take(wallMs: number, cpuMs: number): Promise<Times> {
    if (wallMs === 0) return { wallMs: 0, cpuMs: 0 };
    return this.#spinners.take({ wallMs: wallMs * this.#share, cpuMs: cpuMs * this.#share });
  }

  cancel(id: number): void {
    this.#engine.cancel(id);
  }

  counters(): Record<string, number> {
    return { ...this.#engine.counters(), [PLANTED_COUNTER]: this.#slowed };
  }

  logits(
    tokens: Int32Array,
    options: { chunk: number; reference: boolean },
  ): Promise<Float32Array | Float64Array> {
    return this.#engine.logits(tokens, options);
  }

  memory(): Record<string, number> {
    return this.#engine.memory();
  }

  close(): void {
    this.#spinners.close();
    this.#engine.close();
  }
}
