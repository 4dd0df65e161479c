/** Output parity: the same prompt must give the same output in both arms, after each arm has agreed with itself. */
import { sha256, tokensDigest } from '../digest.js';
import type { Plan, PlannedCell } from '../plan/schema.js';
import { type Finding, finding } from './finding.js';
import { type Launch, type Sample, samplesOf } from './observations.js';
import { type Output, vacuityOf } from './vacuity.js';

export interface Parity {
  level: 'exact' | 'tokens';
  status: 'identical' | 'different' | 'inconclusive' | 'vacuous' | 'unproved';
  /** Over the outputs in order of prompt; null unless identical. */
  sha256: string | null;
  /** Pairs of samples that were compared. */
  pairs: number;
  reasons: Finding[];
}

/** What is compared of a sample: its tokens, and at level exact the bits of its logits. */
function outputKey(sample: Sample, level: Parity['level']): string {
  const tokens = tokensDigest(sample.answer.tokens);
  return level === 'tokens' ? tokens : `${tokens}:${sample.answer.logitsSha256}`;
}

/** Samples of a cell by prompt, every purpose, over launches. */
function byPrompt(cell: PlannedCell, launches: readonly Launch[]): Map<string, Sample[]> {
  const samples = launches.flatMap((launch) =>
    (['warmup', 'sample', 'parity'] as const).flatMap((purpose) => samplesOf(launch, cell.id, purpose)),
  );
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) groups.set(sample.prompt, [...(groups.get(sample.prompt) ?? []), sample]);
  return groups;
}

/** Prompts that an arm answered in more than one way. */
function unstablePrompts(prompts: ReadonlyMap<string, readonly Sample[]>, level: Parity['level']): string[] {
  return [...prompts].flatMap(([prompt, samples]) =>
    new Set(samples.map((sample) => outputKey(sample, level))).size > 1 ? [prompt] : [],
  );
}

function outputsOf(plan: Plan, cell: PlannedCell, prompts: ReadonlyMap<string, readonly Sample[]>): Output[] {
  const minimum = plan.protocol.minimumOutputTokens;
  return [...prompts].flatMap(([prompt, samples]) =>
    samples.slice(0, 1).map(({ answer, purpose }) => ({
      prompt,
      tokens: answer.tokens,
      logitsSha256: answer.logitsSha256,
      long: purpose === 'parity' || cell.generatedTokens >= minimum,
    })),
  );
}

/** Parity of `head` with `base` in one cell, over the launches given. */
export function parityOf(
  plan: Plan,
  cell: PlannedCell,
  base: readonly Launch[],
  head: readonly Launch[],
): Parity {
  const level = plan.protocol.parity;
  const [left, right] = [byPrompt(cell, base), byPrompt(cell, head)];
  const pairs = [...left].reduce(
    (sum, [prompt, samples]) => sum + Math.min(samples.length, right.get(prompt)?.length ?? 0),
    0,
  );
  const result = (status: Parity['status'], code: string, message: string): Parity => ({
    level,
    status,
    sha256: null,
    pairs,
    reasons: [finding(code, message)],
  });
  const all = [...left.values(), ...right.values()].flat();
  if (pairs === 0) return result('unproved', 'no-pairs', 'no prompt was answered by both arms');
  if (level === 'exact' && all.some((sample) => sample.answer.logitsSha256 === null)) {
    return result(
      'unproved',
      'logits-absent',
      'parity level exact needs the digest of the logits of every answer',
    );
  }
  const unstable = [...unstablePrompts(left, level), ...unstablePrompts(right, level)];
  if (unstable.length > 0) {
    const message = `an arm answers ${unstable[0]} in more than one way: without determinism, differences mean nothing`;
    return result('inconclusive', 'not-deterministic', message);
  }
  const differing = [...left].flatMap(([prompt, samples]) => {
    const [a, b] = [samples[0], right.get(prompt)?.[0]];
    return a !== undefined && b !== undefined && outputKey(a, level) !== outputKey(b, level) ? [prompt] : [];
  });
  if (differing.length > 0) {
    const what = level === 'exact' ? 'tokens or logits' : 'tokens';
    const message = `${what} differ for ${differing.length} of ${left.size} prompts, first ${differing[0]}`;
    return result('different', 'outputs-differ', message);
  }
  const vacuous = [left, right]
    .map((prompts) => vacuityOf(outputsOf(plan, cell, prompts), level, plan.protocol.minimumOutputTokens))
    .find((found) => found !== null);
  if (vacuous !== undefined) return result('vacuous', vacuous.code, vacuous.message);
  const keys = [...left].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, samples]) => samples[0]);
  const lines = keys.map((sample) =>
    sample === undefined ? '' : `${sample.prompt} ${outputKey(sample, level)}\n`,
  );
  return { level, status: 'identical', sha256: sha256(lines.join('')), pairs, reasons: [] };
}
