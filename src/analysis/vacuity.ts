/** Do the outputs prove anything? Equal outputs are worth what an unequal engine could not also have produced. */
import type { ParityLevel } from '../matrix/schema.js';
import { type Finding, finding } from './finding.js';
import { limits } from './limits.js';

/** What came back for one prompt, in one arm. */
export interface Output {
  prompt: string;
  tokens: readonly number[];
  /** Null when the engine gives none. */
  logitsSha256: string | null;
  /** The request asked for at least the minimum length. */
  long: boolean;
}

/** Share of different runs of four tokens among all of them, and how many there are. */
function runShare(outputs: readonly Output[]): { share: number; count: number } {
  const runs = outputs.flatMap(({ tokens }) =>
    tokens.slice(0, Math.max(0, tokens.length - 3)).map((_, i) => tokens.slice(i, i + 4).join()),
  );
  return { share: runs.length === 0 ? 1 : new Set(runs).size / runs.length, count: runs.length };
}

/**
 * Why a set of outputs of one cell and arm, one a prompt, proves nothing; null when it does prove something.
 * `minimum` is the length in tokens that a long output must have.
 */
export function vacuityOf(outputs: readonly Output[], level: ParityLevel, minimum: number): Finding | null {
  const vacuous = (message: string): Finding => finding('vacuous-outputs', message);
  const long = outputs.filter((output) => output.long);
  const shortest = Math.min(...long.map((output) => output.tokens.length));
  if (shortest < minimum)
    return vacuous(`an output has ${shortest} tokens; under ${minimum} they prove nothing`);
  const distinctTokens = new Set(outputs.flatMap((output) => output.tokens)).size;
  if (distinctTokens < limits.distinctTokens) {
    return vacuous(
      `all outputs together use ${distinctTokens} different tokens; any broken engine could do that`,
    );
  }
  const { share, count } = runShare(outputs);
  if (count >= limits.runs && share < limits.distinctRunShare) {
    return vacuous(
      `the outputs repeat themselves: ${Math.round(share * 100)} % of their runs of four tokens differ`,
    );
  }
  const meaning = (output: Output): string =>
    level === 'exact' ? `${output.logitsSha256}` : output.tokens.join();
  const groups = [outputs.filter((output) => output.long), outputs.filter((output) => !output.long)];
  const same = groups.some((group) => group.length > 1 && new Set(group.map(meaning)).size === 1);
  return same ? vacuous('different prompts give the same output: it does not depend on the prompt') : null;
}
