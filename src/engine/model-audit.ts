/**
 * How decisive a model is: over every position of the built-in prompts, the margin of the best logit over the second.
 * Margins far above the noise of rounding mean that a hash of token ids tells right from wrong, not luck.
 */
import type { EngineAddon } from './addon.js';
import { DEFAULT_CHUNK } from './host-options.js';

/** Lengths of the prompts; all their positions count. */
const AUDIT_PROMPT_TOKENS = [64, 128, 256, 401] as const;

export interface AuditReport {
  prompts: number;
  positions: number;
  vocabulary: number;
  /** In logits: least, 1 % quantile (nearest rank) and median. */
  marginMinimum: number;
  marginOnePercent: number;
  marginMedian: number;
  /** Largest absolute logit, which the margins are to be seen against. */
  logitMaximum: number;
  /** Ids that were best somewhere: few would mean that the output hardly depends on the prompt. */
  distinctBest: number;
}

/** SplitMix64 of a counter: the same prompt on every machine. */
function mix(counter: bigint): bigint {
  let z = BigInt.asUintN(64, counter * 0x9e3779b97f4a7c15n);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** A built-in prompt: ids drawn evenly from all but the two that begin and end a sequence. */
export function auditPrompt(tokens: number, vocabulary: number): Int32Array {
  const seed = BigInt(tokens) << 32n;
  return Int32Array.from({ length: tokens }, (_, index) => {
    const id = Number(mix(seed + BigInt(index) + 1n) % BigInt(vocabulary - 2));
    return id < 256 ? id : id + 2;
  });
}

/** Best id, and its margin over the second, of one row of logits. */
export function bestOf(row: Float32Array | Float64Array): { id: number; margin: number } {
  let id = 0;
  let first = Number.NEGATIVE_INFINITY;
  let second = Number.NEGATIVE_INFINITY;
  row.forEach((logit, index) => {
    if (logit > first) {
      second = first;
      first = logit;
      id = index;
    } else if (logit > second) {
      second = logit;
    }
  });
  return { id, margin: first - second };
}

/** Nearest-rank quantile of ascending values. */
function quantile(ascending: Float64Array, share: number): number {
  return ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? Number.NaN;
}

/** Runs the built-in prompts through the fast path. */
export async function auditModel(
  addon: EngineAddon,
  path: string,
  threads: number,
  onPrompt: (done: number, total: number) => void,
): Promise<AuditReport> {
  const contextTokens = Math.max(...AUDIT_PROMPT_TOKENS) + 1;
  const engine = await addon.open(path, { threads, cpus: null, contextTokens, cacheSlots: 0, isa: null });
  const { vocabulary } = engine;
  const margins: number[] = [];
  const best = new Set<number>();
  let logitMaximum = 0;
  try {
    for (const [index, tokens] of AUDIT_PROMPT_TOKENS.entries()) {
      const logits = await engine.logits(auditPrompt(tokens, vocabulary), {
        chunk: DEFAULT_CHUNK,
        reference: false,
      });
      for (let row = 0; row < tokens; row += 1) {
        const { id, margin } = bestOf(logits.subarray(row * vocabulary, (row + 1) * vocabulary));
        margins.push(margin);
        best.add(id);
      }
      for (const logit of logits) logitMaximum = Math.max(logitMaximum, Math.abs(logit));
      onPrompt(index + 1, AUDIT_PROMPT_TOKENS.length);
    }
  } finally {
    engine.close();
  }
  const ascending = Float64Array.from(margins).sort();
  return {
    prompts: AUDIT_PROMPT_TOKENS.length,
    positions: margins.length,
    vocabulary,
    marginMinimum: quantile(ascending, 0),
    marginOnePercent: quantile(ascending, 0.01),
    marginMedian: quantile(ascending, 0.5),
    logitMaximum,
    distinctBest: best.size,
  };
}
