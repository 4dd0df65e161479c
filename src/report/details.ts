/** What stands under a table for each comparison: bounds, proofs, the other clock, reasons. Plain text, not escaped. */
import { counted } from '../counted.js';
import { plainPercent } from '../verdict/percent.js';
import type { Verdict } from '../verdict/schema.js';
import { delta, interval, parityText, ratio } from './format.js';
import { launchesDetail, noiseDetail } from './noise.js';
import type { Row } from './rows.js';
import { stageRows } from './stages.js';

export interface Detail {
  label: string;
  text: string;
}

function effectDetail({ cell, comparison }: Row): Detail[] {
  const { effect } = comparison;
  if (effect === null) return [];
  const level = effect.level === null ? '' : `, one-sided ${(100 * effect.level).toFixed(2)} %`;
  const rounds = counted(effect.rounds, 'round');
  const bounds = effect.lower === null ? interval(effect) : `${interval(effect)} (${rounds}${level})`;
  return [
    {
      label: 'effect',
      text: `${delta(effect)} ${ratio(effect)}, ${bounds}; budget -${plainPercent(cell.marginPercent)}`,
    },
  ];
}

function sensitivityDetail({ comparison }: Row): Detail[] {
  const { effect } = comparison;
  if (effect === null || effect.minimumDetectablePercent === null) return [];
  // A fail is decided, also where more rounds could say by how much.
  const more = comparison.verdict === 'fail' ? null : effect.roundsStillNeeded;
  const need = more === null ? '' : `; about ${counted(more, 'more round')} to decide`;
  return [
    {
      label: 'sees',
      text: `slowdowns from ${plainPercent(effect.minimumDetectablePercent)} on (80 % power)${need}`,
    },
  ];
}

function otherClockDetail({ base, head }: Row): Detail[] {
  if (!base?.otherClock || !head?.otherClock) return [];
  const { clock } = base.otherClock;
  const text = `${base.otherClock.median.toFixed(2)} → ${head.otherClock.median.toFixed(2)} tok/s by ${clock} time (does not decide)`;
  return [{ label: clock, text }];
}

/** All details of a row, in reading order. */
export function detailsOf(row: Row): Detail[] {
  const { cell, comparison } = row;
  const { parity } = comparison;
  const digest = parity.sha256 === null ? '' : `, sha256 ${parity.sha256.slice(0, 16)}`;
  const positions =
    parity.distance === undefined ? '' : `, ${counted(parity.distance.positions, 'position')}`;
  return [
    ...effectDetail(row),
    ...sensitivityDetail(row),
    ...noiseDetail(row),
    ...launchesDetail(row),
    {
      label: 'parity',
      text: `${parityText(comparison)} (${counted(parity.pairs, 'pair')}${positions}${digest})`,
    },
    { label: 'cold', text: cell.coldness.status },
    ...otherClockDetail(row),
    ...comparison.reasons.map(({ code, message }) => ({ label: 'why', text: `${message} [${code}]` })),
  ];
}

/** `FAIL (exit 10): 2 of 2 required cells decided, …` in one line. */
export function headline(verdict: Verdict): string {
  const required = verdict.cells.filter((cell) => cell.required);
  const passed = required.filter((cell) => cell.verdict === 'pass').length;
  const word = `${verdict.result.toUpperCase()} (exit ${verdict.exitCode})`;
  if (verdict.ablation !== undefined)
    return `${word}: an ablation, ${passed} of ${required.length} required cells proved; no budget judged`;
  return `${word}: ${passed} of ${required.length} required cells pass`;
}

/** What the numbers are, once for all rows; empty where no row has any. */
export function legend(verdict: Verdict, rows: readonly Row[], withStages: boolean): string {
  if (rows.every(({ comparison }) => comparison.effect === null)) return '';
  const clock = verdict.clock === 'cpu' ? 'CPU' : 'wall';
  const stages = withStages && rows.some((row) => stageRows(row).length > 0);
  const ofStages = stages ? ' Times of stages are medians by wall time.' : '';
  return `Rates are medians by ${clock} time over all retained samples. The change is the centre of the rounds' own ratios, so it is not exactly the ratio of the two medians.${ofStages}`;
}
