/** What stands beside the figures of a verdict: what to know before them, and warnings, those of many cells once. */
import type { Reason, Verdict } from '../verdict/schema.js';
import { rowsOf } from './rows.js';

/** Cells that are named; more are counted. */
const NAMED = 4;

/** `64/32, 300/128`, or `8 cells`. */
export const cellNames = (ids: readonly string[]): string =>
  ids.length > NAMED ? `${ids.length} cells` : ids.join(', ');

/** The cell that a message begins with, and what it says of it. */
function partsOf({ message }: Reason, ids: readonly string[]): { cell: string; rest: string } | null {
  const cell = ids.find((id) => message.startsWith(`${id}: `) || message.startsWith(`${id}, `));
  return cell === undefined ? null : { cell, rest: message.slice(cell.length + 2) };
}

/** Reasons of one code that cells share, as one with the cells in front. Where the figures differ, those of the first are told. */
export function byCell(reasons: readonly Reason[], ids: readonly string[]): Reason[] {
  const groups = new Map<string, { code: string; cells: Set<string>; rests: Set<string> }>();
  reasons.forEach(({ code, message }, index) => {
    const parts = partsOf({ code, message }, ids);
    const key = parts === null ? String(index) : `of cells: ${code}`;
    const group = groups.get(key) ?? { code, cells: new Set<string>(), rests: new Set<string>() };
    if (parts !== null) group.cells.add(parts.cell);
    group.rests.add(parts?.rest ?? message);
    groups.set(key, group);
  });
  return [...groups.values()].map(({ code, cells, rests }) => {
    const [rest = ''] = rests;
    const [cell] = cells;
    if (cell === undefined) return { code, message: rest };
    const names = cellNames([...cells]);
    const message = rests.size === 1 ? `${names}: ${rest}` : `${names}; first, ${cell}: ${rest}`;
    return { code, message };
  });
}

/** What changes how every figure is to be read, and so is told with the headline: both arms are one engine, or one is slowed down. */
const first: readonly string[] = ['same-engine', 'planted'];
const isFirst = ({ code }: Reason): boolean => first.includes(code);

/** The lines under the headline. */
export const firstNotes = ({ reasons, warnings }: Verdict): Reason[] =>
  [...reasons, ...warnings].filter(isFirst);

/** The reasons and warnings that are told after the figures. */
export const laterReasons = ({ reasons }: Verdict): Reason[] => reasons.filter((reason) => !isFirst(reason));

/** Those reasons in the order of the rows: what is of no row first, then the losing cell. */
export function reasonsByRow(verdict: Verdict): Reason[] {
  const starts = rowsOf(verdict).map(
    ({ cell, comparison: { arm, against } }) => `${cell.id}, ${arm} against ${against}: `,
  );
  const place = ({ message }: Reason): number => starts.findIndex((start) => message.startsWith(start));
  return laterReasons(verdict).toSorted((a, b) => place(a) - place(b));
}

export const laterWarnings = ({ warnings, cells }: Verdict): Reason[] =>
  byCell(
    warnings.filter((warning) => !isFirst(warning)),
    cells.map(({ id }) => id),
  );
