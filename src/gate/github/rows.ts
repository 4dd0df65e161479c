/** The table of a decision: every protected cell and every requirement without one, the losing one first. */
import { markdownTable } from 'markdown-table';
import { markdownText } from '../../report/escape.js';
import { plainPercent } from '../../verdict/percent.js';
import { brief } from '../brief.js';
import type { GateCell, GateDecision, GateResult, RequirementResult } from '../decision.js';
import { percentText } from '../words.js';
import { worseFirst } from './words.js';

export interface CellRow {
  requirement: RequirementResult;
  /** Null for a requirement that nothing was measured for. */
  cell: GateCell | null;
  result: GateResult;
}

/** Worst first; among equal ones the slowest first, those without a number before those with one. */
export function rowsOf(decision: GateDecision): CellRow[] {
  const rows = decision.requirements.flatMap((requirement): CellRow[] => {
    const cells = requirement.cells.map((cell) => ({ requirement, cell, result: cell.result }));
    // What is wrong with the requirement itself is not in its cells, as when runs of too few machines are there.
    const told = cells.some(({ result }) => worseFirst(result, requirement.result) <= 0);
    return told ? cells : [{ requirement, cell: null, result: requirement.result }, ...cells];
  });
  const speed = ({ cell }: CellRow): number => cell?.deltaPercent ?? Number.NEGATIVE_INFINITY;
  return rows.toSorted((a, b) => worseFirst(a.result, b.result) || ascending(speed(a), speed(b)));
}

const ascending = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

/** `8192-token prefill, chunk=512 (8192/512)`. */
export const workloadOf = ({ id, phase, promptTokens, chunk }: GateCell): string =>
  `${promptTokens}-token ${brief(phase, 20)}, chunk=${chunk} (${brief(id, 64)})`;

/** `prefill-short on lab`. */
export const placeOf = ({ matrix, machine }: Pick<RequirementResult, 'matrix' | 'machine'>): string =>
  `${brief(matrix, 64)} on ${brief(machine, 64)}`;

/** `+89.2 %, +88.3 % to +90.1 %`; dashes where nothing may be shown. */
export const changeOf = ({ deltaPercent, lowerPercent, upperPercent }: GateCell): string =>
  lowerPercent === null || upperPercent === null
    ? percentText(deltaPercent)
    : `${percentText(deltaPercent)}, ${percentText(lowerPercent)} to ${percentText(upperPercent)}`;

/** `94.59 → 178.90 tok/s`, base first. */
export const ratesOf = ({ baseMedian, headMedian }: GateCell): string =>
  baseMedian === null || headMedian === null
    ? 'not shown'
    : `${baseMedian.toFixed(2)} → ${headMedian.toFixed(2)} tok/s`;

function fields({ requirement, cell, result }: CellRow): string[] {
  const word = result === 'pass' ? 'pass' : `**${result.toUpperCase()}**`;
  const place = markdownText(placeOf(requirement));
  if (cell === null) return [word, place, 'no cell', '–', '–', '–'];
  // `pass: neutral`; `WAIVED: fail, beyond-budget`; `FAIL: beyond-budget`.
  const said = [cell.verdict === result ? null : cell.verdict, cell.detail].filter((part) => part !== null);
  const own = markdownText(brief(said.join(', '), 60));
  return [
    own === '' ? word : `${word}: ${own}`,
    place,
    markdownText(workloadOf(cell)),
    markdownText(ratesOf(cell)),
    markdownText(changeOf(cell)),
    markdownText(`-${plainPercent(cell.marginPercent)}`),
  ];
}

/** Lines of a GFM table: two of head, then one a row. */
export const tableLines = (rows: readonly CellRow[]): string[] =>
  markdownTable(
    [['Result', 'Required', 'Workload', 'Base → head', 'Change', 'Budget'], ...rows.map(fields)],
    {
      align: ['l', 'l', 'l', 'r', 'r', 'r'],
      alignDelimiters: false,
    },
  ).split('\n');
