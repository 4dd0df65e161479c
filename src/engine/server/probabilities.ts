/** Log-probabilities of generated tokens, from the raw logits, as llama-server's `completion_probabilities`. */
import type { NativeResult } from '../addon.js';
import { detokenize } from '../tokenizer.js';

interface TokenProbability {
  id: number;
  token: string;
  logprob: number;
}

export interface CompletionProbability extends TokenProbability {
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
    const order = [...row.keys()].sort((a, b) => (row[b] ?? 0) - (row[a] ?? 0) || a - b);
    return { ...of(id), top_logprobs: order.slice(0, count).map(of) };
  });
}
