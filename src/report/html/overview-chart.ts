/** All comparisons that are shown in one drawing: each change with its interval, against the margin of its cell. */
import type { Verdict } from '../../verdict/schema.js';
import { delta, interval, verdictText, workload } from '../format.js';
import type { Row } from '../rows.js';
import { type Chart, label, signedAxis } from './chart.js';
import { colour } from './palette.js';
import { toneOf } from './tone.js';

/** A row as axes name it: short where there are two arms, with the arm where there are more. */
const nameOf = ({ cell, comparison }: Row, named: boolean): string =>
  label(named ? `${cell.id} ${comparison.arm}` : cell.id);

/** The chart of `rows` in their order, `width` units wide; rows without an effect are not in it. */
export function overviewChart(rows: readonly Row[], { cells }: Verdict, width: number): Chart {
  const named = cells.some(({ comparisons }) => comparisons.length > 1);
  const values = rows.flatMap((row) => {
    const { effect } = row.comparison;
    if (effect === null) return [];
    return [
      {
        name: nameOf(row, named),
        percent: 100 * (effect.ratio - 1),
        margin: -row.cell.marginPercent,
        tone: colour(toneOf(row.comparison.verdict)),
        ...(effect.lower !== null &&
          effect.upper !== null && { low: 100 * (effect.lower - 1), high: 100 * (effect.upper - 1) }),
      },
    ];
  });
  const y = {
    field: 'name',
    type: 'nominal' as const,
    sort: values.map(({ name }) => name),
    title: null,
    axis: { domain: false, ticks: false, grid: true, labelLimit: width / 2 },
  };
  const x = {
    type: 'quantitative' as const,
    title: 'change, %',
    axis: { ...signedAxis, tickCount: 6, grid: false },
  };
  const tone = { field: 'tone', type: 'nominal' as const, scale: null };
  const told = rows.flatMap(({ cell, comparison }) =>
    comparison.effect === null
      ? []
      : `${workload(cell)}, ${comparison.arm}: ${delta(comparison.effect)}, ${interval(comparison.effect)}, ${verdictText(comparison)}`,
  );
  return {
    title: 'Change of every comparison, with its interval and the budget',
    description: `${told.join('. ')}.`,
    spec: {
      width,
      height: 44 + 24 * values.length,
      autosize: { type: 'fit', contains: 'padding' },
      layer: [
        {
          data: { values: [{ zero: 0 }] },
          mark: { type: 'rule', color: colour('line') },
          encoding: { x: { field: 'zero', ...x } },
        },
        {
          data: { values },
          mark: { type: 'tick', color: colour('fail'), thickness: 2, size: 16 },
          encoding: { y, x: { field: 'margin', ...x } },
        },
        {
          data: { values },
          mark: { type: 'rule', strokeWidth: 2 },
          encoding: { y, x: { field: 'low', ...x }, x2: { field: 'high' }, color: tone },
        },
        {
          data: { values },
          mark: { type: 'point', filled: true, size: 60, opacity: 1 },
          encoding: { y, x: { field: 'percent', ...x }, color: tone },
        },
      ],
    },
  };
}
