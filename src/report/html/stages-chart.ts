/** Where the time went: milliseconds by stage of both arms, side by side. */
import { workload } from '../format.js';
import type { Row } from '../rows.js';
import { change, milliseconds, type StageRow } from '../stages.js';
import { type Chart, columnWidth, label } from './chart.js';
import { colour } from './palette.js';
import { type ArmSamples, armScales } from './samples-chart.js';

/** The chart of stages in the order given; `arms` are reference and head. */
export function stagesChart(row: Row, stages: readonly StageRow[], arms: readonly ArmSamples[]): Chart {
  const bars = stages.flatMap(({ stage, baseMs, headMs }) =>
    [baseMs, headMs].map((ms, index) => ({
      stage: label(stage),
      arm: label(arms[index]?.arm ?? ''),
      ms,
      text: milliseconds(ms),
    })),
  );
  const { color } = armScales(arms);
  const names = color.domain;
  const y = {
    field: 'stage',
    type: 'nominal' as const,
    sort: [...new Set(bars.map(({ stage }) => stage))],
    title: null,
    axis: { labelLimit: 145, domain: false, ticks: false },
    scale: { paddingInner: 0.25 },
  };
  const yOffset = { field: 'arm', sort: names };
  const most = Math.max(...bars.map(({ ms }) => ms));
  const [first] = stages;
  const told = first === undefined ? '' : ` Largest change: ${first.stage}, ${change(first)}.`;
  return {
    title: `Stages of ${workload(row.cell)}`,
    description: `Median milliseconds by stage by wall time, ${arms.map(({ arm }) => arm).join(' and ')}.${told}`,
    spec: {
      width: columnWidth,
      // As high as its bars need, so that few stages are not drawn as blocks.
      height: 72 + 30 * stages.length,
      autosize: { type: 'fit', contains: 'padding' },
      data: { values: bars },
      layer: [
        {
          mark: { type: 'bar' },
          encoding: {
            y,
            yOffset,
            x: {
              field: 'ms',
              type: 'quantitative',
              title: 'ms',
              // Room for the number at the end of the longest bar.
              scale: { domain: [0, most * 1.18], nice: false },
              axis: { tickCount: 4, labelBound: true },
            },
            color: { field: 'arm', type: 'nominal', scale: color, legend: {} },
          },
        },
        {
          mark: { type: 'text', align: 'left', dx: 4, fontSize: 10, color: colour('text') },
          encoding: { y, yOffset, x: { field: 'ms', type: 'quantitative' }, text: { field: 'text' } },
        },
      ],
    },
  };
}
