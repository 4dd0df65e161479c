/**
 * Output parity: the same prompt must give the same output in both arms, or at level bounded one within the limits of the plan,
 * after each arm has agreed with itself.
 */
import { counted } from '../counted.js';
import { sha256, tokensDigest } from '../digest.js';
import type { ParityLevel } from '../matrix/schema.js';
import { askedProbabilities } from '../plan/asked-probabilities.js';
import { promptTokens } from '../plan/prompts.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import { type Distance, distanceOf, probabilitiesFlaw } from './bounded.js';
import { type Finding, finding } from './finding.js';
import { allSamplesOf, type Launch, type Sample, samplesOf } from './observations.js';
import { type Output, vacuityOf } from './vacuity.js';

/** Limits of the plan. */
export type Bounded = NonNullable<Plan['protocol']['bounded']>;

export interface Parity {
  level: ParityLevel;
  status: 'identical' | 'within' | 'different' | 'inconclusive' | 'vacuous' | 'unproved';
  /** Over the outputs in order of prompt; null unless identical. */
  sha256: string | null;
  /** Pairs of samples that were compared. */
  pairs: number;
  /** At level bounded only. */
  distance?: Distance;
  reasons: Finding[];
}

/** What must be equal of a sample, as text: its tokens, and at level exact the bits of its logits. */
function outputKey({ answer }: Sample, level: ParityLevel): string {
  const tokens = tokensDigest(answer.tokens);
  return level === 'exact' ? `${tokens}:${answer.logitsSha256}` : tokens;
}

/** Whether that is equal of two samples. Of most it is asked at every look, and digests are dear. */
function isSameOutput({ answer: a }: Sample, { answer: b }: Sample, level: ParityLevel): boolean {
  if (level === 'exact' && a.logitsSha256 !== b.logitsSha256) return false;
  return a.tokens.length === b.tokens.length && a.tokens.every((id, at) => id === b.tokens[at]);
}

/** Samples of a cell by prompt over launches. Warm-ups are not among them: each launch has its own. */
function byPrompt(cell: PlannedCell, launches: readonly Launch[]): Map<string, Sample[]> {
  const groups = new Map<string, Sample[]>();
  for (const launch of launches) {
    for (const purpose of ['sample', 'parity'] as const) {
      for (const sample of samplesOf(launch, cell.id, purpose)) {
        const group = groups.get(sample.prompt);
        if (group) group.push(sample);
        else groups.set(sample.prompt, [sample]);
      }
    }
  }
  return groups;
}

/** Prompts that an arm answered in more than one way. */
function unstablePrompts(prompts: ReadonlyMap<string, readonly Sample[]>, level: ParityLevel): string[] {
  return [...prompts].flatMap(([prompt, [first, ...others]]) =>
    first !== undefined && !others.every((other) => isSameOutput(other, first, level)) ? [prompt] : [],
  );
}

function outputsOf(plan: Plan, cell: PlannedCell, prompts: ReadonlyMap<string, readonly Sample[]>): Output[] {
  const { minimumOutputTokens: minimum, parity } = plan.protocol;
  return [...prompts].flatMap(([prompt, samples]) =>
    samples.slice(0, 1).map(({ answer, purpose }) => {
      const long = purpose === 'parity' || cell.generatedTokens >= minimum;
      const looked = long && parity !== 'exact';
      const { tokens, logitsSha256 } = answer;
      const output = { prompt, tokens, logitsSha256, long };
      return looked ? { ...output, echo: isEcho(promptTokens(plan, prompt), tokens) } : output;
    }),
  );
}

/** Whether an output is the beginning or the end of its prompt. */
function isEcho(prompt: Uint32Array, tokens: readonly number[]): boolean {
  const from = (offset: number): boolean => tokens.every((id, i) => id === prompt[offset + i]);
  return tokens.length > 0 && (from(0) || from(prompt.length - tokens.length));
}

/** Outputs of the parity prompts of other cells, from the first launch: there each cell is still measured. */
const outputsBeside = (cell: PlannedCell, [first]: readonly Launch[]): Output[] =>
  (first?.samples ?? [])
    .filter((sample) => sample.purpose === 'parity' && sample.cell !== cell.id)
    .map(({ prompt, answer: { tokens, logitsSha256 } }) => ({ prompt, tokens, logitsSha256, long: true }));

/** Samples of both arms with one prompt, in order of rounds. */
function pairsOf(
  left: ReadonlyMap<string, readonly Sample[]>,
  right: ReadonlyMap<string, readonly Sample[]>,
): [Sample, Sample][] {
  return [...left].flatMap(([prompt, samples]) => {
    const others = right.get(prompt) ?? [];
    return samples.flatMap((sample, index): [Sample, Sample][] => {
      const other = others[index];
      return other === undefined ? [] : [[sample, other]];
    });
  });
}

/** How many `pairsOf` gives. */
const countPairs = (
  left: ReadonlyMap<string, readonly Sample[]>,
  right: ReadonlyMap<string, readonly Sample[]>,
): number =>
  [...left].reduce((sum, [prompt, { length }]) => sum + Math.min(length, right.get(prompt)?.length ?? 0), 0);

/** Why a distance is beyond the limits; empty when it is within. */
export function beyond(
  { positions, top1, common, meanLogProbability }: Distance,
  limits: Bounded,
): Finding[] {
  const places = `over ${positions} position${positions === 1 ? '' : 's'}`;
  const found: Finding[] = [];
  if (top1 < limits.top1) {
    const message = `the arms agree on ${percent(top1)} of the best ids ${places}; the limit is ${percent(limits.top1)}`;
    found.push(finding('top1-below-limit', message));
  }
  if (common < limits.common) {
    const message = `${percent(common)} of the likeliest ids are in common ${places}; the limit is ${percent(limits.common)}`;
    found.push(finding('common-below-limit', message));
  }
  if (meanLogProbability === null || meanLogProbability > limits.meanLogProbability) {
    const apart =
      meanLogProbability === null ? 'have no id in common' : `differ by ${shown(meanLogProbability)}`;
    const message = `log-probabilities ${apart} in the mean ${places}; the limit is ${limits.meanLogProbability}`;
    found.push(finding('log-probabilities-apart', message));
  }
  return found;
}

/** Code and message of the first answer whose likeliest ids cannot be compared; null when all can. */
function firstFlaw(samples: readonly Sample[], asked: number): [string, string] | null {
  for (const sample of samples) {
    const flaw = probabilitiesFlaw(sample, asked);
    if (flaw !== null)
      return [sample.answer.probabilities ? 'probabilities-wrong' : 'probabilities-absent', flaw];
  }
  return null;
}

/** Logits of a cell that are no numbers, in any request: equal outputs of them prove nothing. Null where there are none. */
function nonFinite(cell: PlannedCell, launches: readonly Launch[]): string | null {
  const wrong = launches.flatMap((launch) =>
    allSamplesOf(launch, cell.id).filter(({ answer }) => (answer.nonFiniteLogits ?? 0) > 0),
  );
  const [first] = wrong;
  if (first === undefined) return null;
  const { launch, prompt, answer } = first;
  const more = wrong.length === 1 ? '' : `, and so in ${wrong.length - 1} more answers`;
  return `launch ${launch}, ${prompt}: ${answer.nonFiniteLogits} logits are NaN or infinite${more}`;
}

const percent = (share: number): string => `${shown(100 * share)} %`;
const shown = (value: number): string => String(Number(value.toPrecision(3)));

/** Parity of `head` with `base` in one cell, over the launches given. */
export function parityOf(
  plan: Plan,
  cell: PlannedCell,
  base: readonly Launch[],
  head: readonly Launch[],
): Parity {
  const level = plan.protocol.parity;
  const [left, right] = [byPrompt(cell, base), byPrompt(cell, head)];
  const pairs = countPairs(left, right);
  const result = (status: Parity['status'], code: string, message: string): Parity => ({
    level,
    status,
    sha256: null,
    pairs,
    reasons: [finding(code, message)],
  });
  const all = [...left.values(), ...right.values()].flat();
  if (pairs === 0) return result('unproved', 'no-pairs', 'no prompt was answered by both arms');
  const broken = nonFinite(cell, [...base, ...head]);
  if (broken !== null) return result('vacuous', 'non-finite-logits', broken);
  if (level === 'exact' && all.some((sample) => sample.answer.logitsSha256 === null)) {
    return result(
      'unproved',
      'logits-absent',
      'parity level exact needs the digest of the logits of every answer',
    );
  }
  const flaw = level === 'bounded' ? firstFlaw(all, askedProbabilities(plan)) : null;
  if (flaw !== null) return result('unproved', ...flaw);
  const unstable = [...unstablePrompts(left, level), ...unstablePrompts(right, level)];
  if (unstable.length > 0) {
    const message = `an arm answers ${unstable[0]} in more than one way: without determinism, differences mean nothing`;
    return result('inconclusive', 'not-deterministic', message);
  }
  const vacuous = [
    { launches: base, prompts: left },
    { launches: head, prompts: right },
  ]
    .map(({ launches, prompts }) =>
      vacuityOf(
        outputsOf(plan, cell, prompts),
        level,
        plan.protocol.minimumOutputTokens,
        outputsBeside(cell, launches),
      ),
    )
    .find((found) => found !== null);
  if (level === 'bounded' && plan.protocol.bounded !== undefined) {
    const distance = distanceOf(pairsOf(left, right));
    const reasons = beyond(distance, plan.protocol.bounded);
    if (reasons.length > 0) return { level, status: 'different', sha256: null, pairs, distance, reasons };
    if (vacuous !== undefined) return { ...result('vacuous', vacuous.code, vacuous.message), distance };
    return { level, status: 'within', sha256: null, pairs, distance, reasons: [] };
  }
  const differing = [...left].flatMap(([prompt, samples]) => {
    const [a, b] = [samples[0], right.get(prompt)?.[0]];
    return a !== undefined && b !== undefined && !isSameOutput(a, b, level) ? [prompt] : [];
  });
  if (differing.length > 0) {
    const what = level === 'exact' ? 'tokens or logits' : 'tokens';
    const message = `${what} differ for ${differing.length} of ${counted(left.size, 'prompt')}, first ${differing[0]}`;
    return result('different', 'outputs-differ', message);
  }
  if (vacuous !== undefined) return result('vacuous', vacuous.code, vacuous.message);
  const keys = [...left].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, samples]) => samples[0]);
  const lines = keys.map((sample) =>
    sample === undefined ? '' : `${sample.prompt} ${outputKey(sample, level)}\n`,
  );
  return { level, status: 'identical', sha256: sha256(lines.join('')), pairs, reasons: [] };
}
