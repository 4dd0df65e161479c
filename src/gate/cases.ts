/** A decision as test reports have it: a suite a requirement, a case a protected cell, and one where evidence is lacking. Pure. */
import type { GateDecision, GateResult, NextStep, RequirementResult } from './decision.js';
import {
  headlineOf,
  nextText,
  OTHER_CELLS,
  reasonText,
  rulesText,
  runLine,
  sentenceOf,
  titleOf,
  waiverText,
} from './words.js';

export interface GateCase {
  name: string;
  result: GateResult;
  /** A code: `fail`, `missing`, `cold-unproved`. */
  type: string;
  /** One line, with both numbers where there are any. */
  message: string;
  /** What to know besides: runs, waivers, reasons. */
  lines: string[];
  /** Path of the waiver that it rests on. */
  waiver: string | null;
}

interface GateSuite {
  name: string;
  result: GateResult;
  cases: GateCase[];
}

/** The suites, in the order of the policy. */
export const suitesOf = (decision: GateDecision): GateSuite[] =>
  decision.requirements.map((requirement) => ({
    name: titleOf(requirement),
    result: requirement.result,
    cases: [...evidenceCases(requirement), ...cellCases(requirement, decision)],
  }));

/** What every suite carries: what was decided, by which rules, for which commits. */
export function propertiesOf(decision: GateDecision): [name: string, value: string][] {
  const { head, base, reasons } = decision;
  return [
    ['decision', headlineOf(decision)],
    ['rules', rulesText(decision)],
    ['head', head.commit],
    ['base', base.commit],
    ...reasons.map(({ code, message }): [string, string] => [code, message]),
  ];
}

const nextLine = (next: NextStep | null): string[] => (next === null ? [] : [`next: ${nextText(next)}`]);

/** A requirement whose result no cell explains has a case of its own, so that no report is green by silence. */
function evidenceCases({ result, reasons: all, cells, next }: RequirementResult): GateCase[] {
  const reasons = all.filter(({ code }) => code !== OTHER_CELLS);
  if (reasons.length === 0 && cells.length > 0) return [];
  const isExplained = cells.some((cell) => cell.result === result);
  const lines = reasons.map(reasonText);
  const [first = `${result}: nothing was judged`] = lines;
  return [
    {
      name: 'evidence',
      result: isExplained ? 'fail' : result,
      type: reasons[0]?.code ?? result,
      message: first,
      lines: [...lines, ...nextLine(next)],
      waiver: null,
    },
  ];
}

function cellCases(
  { cells, reasons, next }: RequirementResult,
  { evidence, waivers }: GateDecision,
): GateCase[] {
  return cells.map((cell) => {
    const run = evidence[cell.run];
    const waiver = cell.waiver === null ? undefined : waivers[cell.waiver];
    return {
      name: cell.id,
      result: cell.result,
      type: cell.verdict,
      message: sentenceOf(cell),
      lines: [
        ...(waiver === undefined ? [] : [`WAIVED: ${waiverText(waiver)}`]),
        ...(run === undefined ? [] : [runLine(run)]),
        ...[...cell.reasons, ...reasons.filter(({ code }) => code === OTHER_CELLS)].map(reasonText),
        ...(cell.result === 'pass' || cell.result === 'waived' ? [] : nextLine(next)),
      ],
      waiver: waiver?.path ?? null,
    };
  });
}
