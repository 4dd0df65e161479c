/** Why a comparison has no statistics: the missing proof, by the word for it. */
import type { Analysis, LookAnalysis } from '../analysis/analyse.js';
import type { ComparisonAnalysis } from '../analysis/comparison.js';
import { condensed, type Finding, finding } from '../analysis/finding.js';
import { controlRefusals } from './controls.js';
import { type VerdictName, verdictNames } from './schema.js';

export interface Refusal {
  verdict: VerdictName;
  reasons: Finding[];
}

const rank = (verdict: VerdictName): number => verdictNames.indexOf(verdict);

/** The worst of some verdicts; `pass` when there are none. */
export const worstOf = (verdicts: readonly VerdictName[]): VerdictName =>
  verdicts.reduce<VerdictName>((worst, verdict) => (rank(verdict) > rank(worst) ? verdict : worst), 'pass');

/** Negative when `a` is the worse of the two. */
export const worseFirst = (a: VerdictName, b: VerdictName): number => rank(b) - rank(a);

function missingRefusal(analysis: Analysis, look: LookAnalysis): Refusal | null {
  if (look.missing.length === 0) return null;
  if (analysis.failures.length > 0) {
    return { verdict: 'infrastructure', reasons: condensed([...analysis.failures, ...look.missing]) };
  }
  const stopped = analysis.interrupted
    ? [finding('interrupted', 'the session was stopped before its end')]
    : [];
  return { verdict: 'not-measured', reasons: condensed([...stopped, ...look.missing]) };
}

function parityRefusal(comparison: ComparisonAnalysis, complete: boolean): Refusal | null {
  const { level, status, reasons } = comparison.parity;
  if (status === 'identical' || status === 'within') return null;
  // A difference stands whatever is still to come, unless it is one of means over what has come so far.
  if (status === 'different' && level !== 'bounded') return { verdict: 'parity-failed', reasons };
  // What is still to come could settle these; proofs are asked of complete looks only.
  if (!complete) return null;
  if (status === 'vacuous' || status === 'different') return { verdict: 'parity-failed', reasons };
  if (status === 'unproved') return { verdict: 'unsupported', reasons };
  return { verdict: 'inconclusive', reasons };
}

function coldnessRefusal(look: LookAnalysis, complete: boolean): Refusal | null {
  const { status, reasons } = look.coldness;
  if (status === 'violated' || (complete && status !== 'proved'))
    return { verdict: 'cold-unproved', reasons };
  return null;
}

/** What the null arm lacks of the proofs that every arm owes. It checks the session, so that nothing is shown without them. */
function nullRefusals({ controls: { nullArm } }: LookAnalysis, complete: boolean): Refusal[] {
  if (nullArm === null) return [];
  const told = (reasons: Finding[]): Finding[] =>
    reasons.map(({ code, message }) =>
      finding(code, `${nullArm.arm} against ${nullArm.against}: ${message}`),
    );
  const parity = parityRefusal(nullArm, complete);
  return [
    ...(nullArm.mismatches.length === 0
      ? []
      : [{ verdict: 'unmatched' as const, reasons: condensed(told(nullArm.mismatches)) }]),
    ...(parity === null ? [] : [{ ...parity, reasons: told(parity.reasons) }]),
  ];
}

/** The controls of a session are asked once the look is complete and its samples are what they should be. */
const controlsDue = (look: LookAnalysis): boolean =>
  look.missing.length === 0 && look.coldness.status === 'proved' && look.impossible.length === 0;

/** All proofs that a comparison lacks at a look, worst first; empty when statistics may be shown. */
export function refusalsOf(
  analysis: Analysis,
  look: LookAnalysis,
  comparison: ComparisonAnalysis,
): Refusal[] {
  const complete = look.missing.length === 0;
  const when = (verdict: VerdictName, reasons: Finding[]): Refusal | null =>
    reasons.length === 0 ? null : { verdict, reasons: condensed(reasons) };
  return [
    missingRefusal(analysis, look),
    when('unmatched', comparison.mismatches),
    coldnessRefusal(look, complete),
    when('cold-unproved', look.impossible),
    parityRefusal(comparison, complete),
    when('contaminated', look.contamination),
    ...nullRefusals(look, complete),
    when('contaminated', controlsDue(look) ? controlRefusals(look) : []),
  ]
    .filter((refusal) => refusal !== null)
    .toSorted((a, b) => worseFirst(a.verdict, b.verdict));
}
