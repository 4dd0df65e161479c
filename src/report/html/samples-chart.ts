/** Every sample of both arms of a comparison, by round, with the median and the MAD of each arm. */
import type { Verdict } from '../../verdict/schema.js';
import { rate, spread, workload } from '../format.js';
import type { Row } from '../rows.js';
import { type Chart, columnWidth, label } from './chart.js';
import { type ArmLook, armLook } from './palette.js';

/** Share of a round's width that its arms take. */
const dodge = 0.36;

/** An arm of a comparison with its samples, launch after launch. */
export interface ArmSamples {
  arm: string;
  /** Tokens a second, one list a round, in order of execution. */
  byRound: number[][];
  median: number;
  mad: number;
  look: ArmLook;
}

/** Both arms of a comparison, reference first; empty when it is refused. `armNames` are those of the plan, in order. */
export function armSamples(row: Row, perLaunch: number, armNames: readonly string[]): ArmSamples[] {
  const { comparison, base, head } = row;
  if (base === undefined || head === undefined) return [];
  const pairs = [[comparison.against, base] as const, [comparison.arm, head] as const];
  return pairs.map(([arm, summary]) => ({
    arm,
    byRound: Array.from({ length: Math.ceil(summary.samples.length / perLaunch) }, (_, round) =>
      summary.samples.slice(round * perLaunch, (round + 1) * perLaunch),
    ),
    median: summary.median,
    mad: summary.mad,
    look: armLook(armNames.indexOf(arm)),
  }));
}

/** Scales that give each arm its own colour and shape, in every chart the same. */
export const armScales = (arms: readonly Pick<ArmSamples, 'arm' | 'look'>[]) => ({
  color: { domain: arms.map(({ arm }) => label(arm)), range: arms.map(({ look }) => look.colour) },
  shape: { domain: arms.map(({ arm }) => label(arm)), range: arms.map(({ look }) => look.shape) },
});

/** Rounds from 1, with room at the right for what is told of all of them. */
export const roundAxis = (rounds: number) => ({
  type: 'quantitative' as const,
  title: 'round',
  scale: { domain: [0.4, rounds + 0.9], nice: false, zero: false },
  axis: { grid: false, format: 'd', values: Array.from({ length: rounds }, (_, index) => index + 1) },
});

/** The dot plot of a comparison that is shown. */
export function samplesChart(row: Row, arms: readonly ArmSamples[], { clock }: Verdict): Chart {
  const rounds = Math.max(...arms.map(({ byRound }) => byRound.length));
  const dots = arms.flatMap(({ arm, byRound }, index) =>
    byRound.flatMap((samples, round) =>
      samples.map((tokPerSec) => ({
        arm: label(arm),
        round: round + 1 + (index - (arms.length - 1) / 2) * dodge,
        tokPerSec,
      })),
    ),
  );
  const scales = armScales(arms);
  const y = { type: 'quantitative' as const, title: 'tok/s', scale: { zero: false } };
  const levels = arms.flatMap(({ median, mad, look }) => [
    {
      data: { values: [{ low: median - mad, high: median + mad }] },
      mark: { type: 'rect' as const, color: look.colour, opacity: 0.14 },
      encoding: { y: { field: 'low', ...y }, y2: { field: 'high' } },
    },
    {
      data: { values: [{ median }] },
      mark: { type: 'rule' as const, color: look.colour, strokeWidth: 1.5, strokeDash: [...look.dash] },
      encoding: { y: { field: 'median', ...y } },
    },
  ]);
  const told = [row.base, row.head].flatMap((summary, index) =>
    summary === undefined
      ? []
      : [`${arms[index]?.arm}: median ${rate(summary)} ${spread(summary)}, ${summary.n} samples`],
  );
  return {
    title: `Samples of ${workload(row.cell)}`,
    description: `Every retained sample in tokens a second by ${clock === 'cpu' ? 'CPU' : 'wall'} time, by round and arm. ${told.join('; ')}.`,
    spec: {
      width: columnWidth,
      height: 240,
      autosize: { type: 'fit', contains: 'padding' },
      layer: [
        ...levels,
        {
          data: { values: dots },
          mark: { type: 'point', filled: true, size: 22, opacity: 0.85 },
          encoding: {
            x: { field: 'round', ...roundAxis(rounds) },
            y: { field: 'tokPerSec', ...y },
            color: { field: 'arm', type: 'nominal', scale: scales.color, legend: {} },
            shape: { field: 'arm', type: 'nominal', scale: scales.shape },
          },
        },
      ],
    },
  };
}
