/** What a decision is called on GitHub. Only a pass reads as one: `waived` is told apart, and nothing else lets a merge through. */
import { counted } from '../../counted.js';
import { type GateCell, type GateDecision, type GateResult, gateResults, type Reason } from '../decision.js';

const badness = (result: GateResult): number => gateResults.indexOf(result);

/** The worse of two results comes first. */
export const worseFirst = (a: GateResult, b: GateResult): number => badness(b) - badness(a);

/**
 * The result that is shown: never better than that of any requirement, and `invalid` where exit code and result contradict each other, so
 * that a decision which was damaged or made up does not come out as a pass.
 */
export function shownResult(decision: GateDecision): GateResult {
  const [worst = 'invalid'] = [
    decision.result,
    ...decision.requirements.map(({ result }) => result),
  ].toSorted(worseFirst);
  const passes = worst === 'pass' || worst === 'waived';
  return passes === (decision.exitCode === 0) ? worst : 'invalid';
}

/** Which fields of a decision contradict each other, and how; null in every decision that a gate makes. */
export function contradictionOf({ result, exitCode, requirements }: GateDecision): Reason | null {
  const told = (message: string): Reason => ({
    code: 'contradiction',
    message: `the decision contradicts itself: ${message}`,
  });
  const own = requirements.map((requirement) => requirement.result);
  const [worst] = own.toSorted(worseFirst);
  if (worst !== undefined && worst !== result)
    return told(`result is ${result}, and requirements.${own.indexOf(worst)}.result is ${worst}`);
  if ((result === 'pass' || result === 'waived') === (exitCode === 0)) return null;
  return told(`exitCode is ${exitCode}, and result is ${result}`);
}

export type Conclusion = 'success' | 'neutral' | 'action_required' | 'failure';

/** GitHub lets a merge through on `success` and on `neutral`, and on none of the others. */
export const conclusionOf: Readonly<Record<GateResult, Conclusion>> = {
  pass: 'success',
  waived: 'neutral',
  inconclusive: 'action_required',
  missing: 'action_required',
  fail: 'failure',
  refused: 'failure',
  invalid: 'failure',
};

const MEANING: Readonly<Record<GateResult, string>> = {
  pass: 'every requirement is met',
  waived: 'not passed; a maintainer let it through',
  inconclusive: 'the samples do not decide; this is not a pass',
  fail: 'slower than the budget allows',
  missing: 'no run counts for this head',
  refused: 'a proof is missing, and nothing can waive that',
  invalid: 'what was offered does not hold',
};

/** Cells of a decision, of all its requirements. */
const cellsOf = (decision: GateDecision): GateCell[] => decision.requirements.flatMap(({ cells }) => cells);

/** `FAIL: slower than the budget allows (1 of 2 protected cells)`. At most some 120 characters, nothing of others in it. */
export function headline(decision: GateDecision): string {
  const result = shownResult(decision);
  const cells = cellsOf(decision);
  const short = cells.filter((cell) => cell.result !== 'pass').length;
  const share = short === 0 ? '' : ` (${short} of ${counted(cells.length, 'protected cell')})`;
  return `${result.toUpperCase()}: ${MEANING[result]}${share}`;
}
