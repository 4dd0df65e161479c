/** Where the time went: stages of both arms side by side, the largest change first. */
import type { Verdict } from '../verdict/schema.js';
import type { Row } from './rows.js';

export interface StageRow {
  stage: string;
  baseMs: number;
  headMs: number;
}

const shownStages = 6;
/** A stage below this share of the slower arm's time is told with the rest. */
const smallestShare = 0.01;

/** The stages that changed most, then the rest as one; empty when the engine tells no stages. */
export function stageRows({ base, head }: Row): StageRow[] {
  if (base === undefined || head === undefined) return [];
  // An engine that tells no stages does not lack those of the other.
  if ([base, head].some(({ stages }) => Object.keys(stages).length === 0)) return [];
  const names = new Set([...Object.keys(base.stages), ...Object.keys(head.stages)]);
  const all = [...names].map(
    (stage): StageRow => ({ stage, baseMs: base.stages[stage] ?? 0, headMs: head.stages[stage] ?? 0 }),
  );
  const sum = (rows: readonly StageRow[], of: 'baseMs' | 'headMs'): number =>
    rows.reduce((total, row) => total + row[of], 0);
  const total = Math.max(sum(all, 'baseMs'), sum(all, 'headMs'));
  const ordered = all
    .filter((row) => row.baseMs > 0 || row.headMs > 0)
    .toSorted(
      (a, b) => Math.abs(b.headMs - b.baseMs) - Math.abs(a.headMs - a.baseMs) || (a.stage < b.stage ? -1 : 1),
    );
  const large = ordered.filter((row) => Math.max(row.baseMs, row.headMs) >= smallestShare * total);
  const shown = large.slice(0, shownStages);
  const rest = ordered.filter((row) => !shown.includes(row));
  if (rest.length === 0) return shown;
  return [
    ...shown,
    { stage: `${rest.length} more`, baseMs: sum(rest, 'baseMs'), headMs: sum(rest, 'headMs') },
  ];
}

/** `6791.6`: milliseconds with one decimal, two below ten. */
export const milliseconds = (ms: number): string => ms.toFixed(ms < 10 ? 2 : 1);

/** `4.09x faster`, `1.20x slower`, or nothing to say. */
export function change({ baseMs, headMs }: StageRow): string {
  if (baseMs <= 0 || headMs <= 0) return headMs > baseMs ? 'new' : 'gone';
  const factor = Math.max(baseMs, headMs) / Math.min(baseMs, headMs);
  if (factor < 1.005) return 'same';
  return `${factor.toFixed(2)}x ${headMs < baseMs ? 'faster' : 'slower'}`;
}

/** Others used the machine, which CPU time bears and the wall time of stages does not: a terminal shows no stages then. */
export const areStagesDisturbed = ({ clock, warnings }: Verdict): boolean =>
  clock === 'cpu' && warnings.some(({ code }) => code === 'foreign-load');

/** Why they are not there. */
export const disturbedStages =
  'Stages are left out: they are by wall time, and others used the machine. report.md has them.';
