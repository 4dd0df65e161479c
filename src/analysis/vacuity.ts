/** Do the outputs prove anything? Equal outputs are worth what an unequal engine could not also have produced. */
import { counted } from '../counted.js';
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
  /** The output is the beginning or the end of its prompt. Absent when nobody looked: at level exact nothing follows from it. */
  echo?: boolean;
}

type Ids = readonly number[];

/** Runs of four tokens of an output. */
const runsOf = (tokens: Ids): string[] =>
  tokens.slice(0, Math.max(0, tokens.length - 3)).map((_, i) => tokens.slice(i, i + 4).join());

const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);

/** Share of different runs of four tokens among all of them. */
function distinctRunShare(outputs: readonly Output[]): { share: number; count: number } {
  const runs = outputs.flatMap(({ tokens }) => runsOf(tokens));
  return { share: share(new Set(runs).size, runs.length), count: runs.length };
}

/** The same inside of each output, over all of them: low where each goes in a circle of its own. */
function ownRunShare(outputs: readonly Output[]): number {
  const runs = outputs.map(({ tokens }) => runsOf(tokens));
  const distinct = runs.reduce((sum, own) => sum + new Set(own).size, 0);
  return share(
    distinct,
    runs.reduce((sum, own) => sum + own.length, 0),
  );
}

/** Share of the steps from one id to the next that are the commonest one. */
function commonestStepShare(tokens: Ids): number {
  const counts = new Map<number, number>();
  tokens.slice(1).forEach((id, i) => {
    const step = id - (tokens[i] ?? 0);
    counts.set(step, (counts.get(step) ?? 0) + 1);
  });
  return share(Math.max(0, ...counts.values()), tokens.length - 1);
}

/** Share of positions at which two outputs of different prompts agree, as the mean over all pairs; over the length in common. */
function agreement(outputs: readonly Output[]): number {
  const length = Math.min(...outputs.map(({ tokens }) => tokens.length));
  const pairs = (outputs.length * (outputs.length - 1)) / 2;
  let same = 0;
  for (let position = 0; position < length; position += 1) {
    const counts = new Map<number | undefined, number>();
    for (const { tokens } of outputs) counts.set(tokens[position], (counts.get(tokens[position]) ?? 0) + 1);
    for (const count of counts.values()) same += (count * (count - 1)) / 2;
  }
  return length === 0 ? 1 : same / (pairs * length);
}

const meaning = (output: Output, level: ParityLevel): string =>
  level === 'exact' ? `${output.logitsSha256}` : output.tokens.join();

/** Whether outputs of different prompts are one output; null when not. */
function independence(outputs: readonly Output[], level: ParityLevel): string | null {
  if (outputs.length < 2) return null;
  const distinct = new Set(outputs.map((output) => meaning(output, level))).size;
  if (distinct === 1) return 'different prompts give the same output: it does not depend on the prompt';
  if (level === 'exact' || outputs.some(({ long }) => !long)) return null;
  const agreed = agreement(outputs);
  if (agreed >= limits.agreement) {
    return `outputs of different prompts agree at ${Math.round(100 * agreed)} % of their positions: they hardly depend on the prompt`;
  }
  if (outputs.length >= limits.manyOutputs && distinct <= outputs.length / 2) {
    return `${outputs.length} prompts give ${distinct} outputs: they hardly depend on the prompt`;
  }
  return null;
}

/**
 * What could be written down without a model: at level exact it would not matter, as the bits of the logits are compared besides. Asked
 * of all long outputs together, for a single one may look like that by chance.
 */
function foreseeable(long: readonly Output[]): string | null {
  if (long.length === 0) return null;
  const own = ownRunShare(long);
  if (own <= limits.ownRunShare) {
    return `each output goes in a circle: ${Math.round(100 * own)} % of its runs of four tokens differ`;
  }
  if (long.every(({ tokens }) => commonestStepShare(tokens) >= limits.sameStepShare))
    return 'each output only counts on from its first token';
  if (long.every(({ echo }) => echo === true))
    return 'each output repeats the beginning or the end of its prompt';
  return null;
}

/**
 * Why a set of outputs of one cell and arm, one a prompt, proves nothing; null when it does prove something. `minimum` is the length
 * in tokens that a long output must have; `elsewhere` are long outputs of other cells, which have other prompts.
 */
export function vacuityOf(
  outputs: readonly Output[],
  level: ParityLevel,
  minimum: number,
  elsewhere: readonly Output[] = [],
): Finding | null {
  const vacuous = (message: string): Finding => finding('vacuous-outputs', message);
  const long = outputs.filter((output) => output.long);
  const shortest = Math.min(...long.map((output) => output.tokens.length));
  if (shortest < minimum)
    return vacuous(`an output has ${counted(shortest, 'token')}; under ${minimum} they prove nothing`);
  const distinctTokens = new Set(outputs.flatMap((output) => output.tokens)).size;
  if (distinctTokens < limits.distinctTokens) {
    return vacuous(
      `all outputs together use ${distinctTokens} different tokens; any broken engine could do that`,
    );
  }
  const runs = distinctRunShare(outputs);
  if (runs.count >= limits.runs && runs.share < limits.distinctRunShare) {
    return vacuous(
      `the outputs repeat themselves: ${Math.round(runs.share * 100)} % of their runs of four tokens differ`,
    );
  }
  const short = outputs.filter((output) => !output.long);
  const found =
    independence(long, level) ??
    independence(short, level) ??
    (level === 'exact' ? null : foreseeable(long)) ??
    (long.length === 0 ? null : independence([...long, ...elsewhere], level));
  return found === null ? null : vacuous(found);
}
