/** Log-probabilities of generated tokens, from the raw logits, as llama-server's `completion_probabilities`. */
import type { NativeResult } from '../addon.js';
import { detokenize } from '../tokenizer.js';

interface TokenProbability {
  id: number;
  token: string;
  logprob: number;
}

interface CompletionProbability extends TokenProbability {
  top_logprobs: TokenProbability[];
}

/** The `count` likeliest ids at each generated token; ties go to the smaller id. */
export function completionProbabilities(
  result: NativeResult,
  vocabulary: number,
  count: number,
): CompletionProbability[] {
  return [...result.tokens].map((id, step) => {
    const row = result.logits.subarray(step * vocabulary, (step + 1) * vocabulary);
    const shift = row.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const total = shift + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - shift), 0));
    const of = (token: number): TokenProbability => ({
      id: token,
      token: detokenize([token]),
      logprob: (row[token] ?? Number.NaN) - total,
    });
    return { ...of(id), top_logprobs: likeliest(row, count).map(of) };
  });
}

/** Indices of the `count` largest values, largest first, in one pass: a client's clock sees what it takes. */
function likeliest(row: Float32Array, count: number): number[] {
  const best: number[] = [];
  row.forEach((value, index) => {
    if (best.length === count && value <= (row[best.at(-1) ?? 0] ?? 0)) return;
    let place = best.length;
    while (place > 0 && value > (row[best[place - 1] ?? 0] ?? 0)) place -= 1;
    best.splice(place, 0, index);
    if (best.length > count) best.pop();
  });
  return best;
}
