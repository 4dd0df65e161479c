/** The paired effect of each round, and what followed from them at each look: centre, interval, margin. */

import { asPercent } from '../../analysis/controls/interval.js';
import { logEffect } from '../../analysis/effect.js';
import type { Plan } from '../../plan/schema.js';
import { signedPercent } from '../../verdict/percent.js';
import type { Effect } from '../../verdict/schema.js';
import { interval, workload } from '../format.js';
import type { Row } from '../rows.js';
import { type Chart, columnWidth, label, signedAxis } from './chart.js';
import { armLook, colour } from './palette.js';
import { roundAxis } from './samples-chart.js';

/** What the rounds so far said at a look; ratios are of head over base. */
interface LookRecord {
  rounds: number;
  ratio: number;
  lower: number | null;
  upper: number | null;
}

/** The looks that were taken of a comparison, drawn again from its rounds by the code that decides; the last is its effect. */
export function lookRecords({ perRound, rounds }: Effect, { decision }: Plan): LookRecord[] {
  return decision.looks
    .filter((look) => look <= rounds)
    .map((look) => {
      const { centre, deciding } = logEffect(perRound.slice(0, look), decision);
      return {
        rounds: look,
        ratio: Math.exp(centre),
        lower: deciding === null ? null : Math.exp(deciding.lower),
        upper: deciding === null ? null : Math.exp(deciding.upper),
      };
    });
}

/** The arm of a comparison that was launched first in a round. */
export function firstOf({ comparison: { arm, against } }: Row, plan: Plan, round: number): string {
  const order = plan.rounds[round]?.order ?? [];
  return order.indexOf(arm) < order.indexOf(against) ? arm : against;
}

/** The chart of a comparison that is shown. */
export function roundsChart(row: Row, effect: Effect, plan: Plan): Chart {
  const { cell, comparison } = row;
  const look = armLook(plan.arms.findIndex(({ name }) => name === comparison.arm));
  const ofHead = look.colour;
  const rounds = effect.perRound.map((log, index) => ({
    round: index + 1,
    percent: asPercent(log),
    first: `${label(firstOf(row, plan, index))} first`,
  }));
  const looks = lookRecords(effect, plan).map(({ rounds: at, ratio, lower, upper }) => ({
    at: at + 0.5,
    percent: 100 * (ratio - 1),
    ...(lower !== null && upper !== null && { low: 100 * (lower - 1), high: 100 * (upper - 1) }),
  }));
  const y = { type: 'quantitative' as const, title: 'change, %', axis: { ...signedAxis } };
  const level = (percent: number, mark: object) => ({
    data: { values: [{ percent }] },
    mark: { type: 'rule' as const, ...mark },
    encoding: { y: { field: 'percent', ...y } },
  });
  const band =
    effect.lower === null || effect.upper === null
      ? []
      : [
          {
            data: { values: [{ low: 100 * (effect.lower - 1), high: 100 * (effect.upper - 1) }] },
            mark: { type: 'rect' as const, color: ofHead, opacity: 0.14 },
            encoding: { y: { field: 'low', ...y }, y2: { field: 'high' } },
          },
        ];
  return {
    title: `Change by round, ${workload(cell)}`,
    description: `Change of ${comparison.arm} against ${comparison.against} in each of ${effect.rounds} rounds. In the centre ${signedPercent(effect.ratio)}, ${interval(effect)}; the budget ends at -${cell.marginPercent} %.`,
    spec: {
      width: columnWidth,
      height: 240,
      autosize: { type: 'fit', contains: 'padding' },
      layer: [
        ...band,
        level(0, { color: colour('line'), strokeWidth: 1 }),
        level(-cell.marginPercent, { color: colour('fail'), strokeWidth: 1.5, strokeDash: [4, 3] }),
        level(100 * (effect.ratio - 1), { color: ofHead, strokeWidth: 1.5, strokeDash: [...look.dash] }),
        {
          data: { values: looks },
          mark: { type: 'rule', color: colour('text'), strokeWidth: 2 },
          encoding: {
            x: { field: 'at', ...roundAxis(effect.rounds) },
            y: { field: 'low', ...y },
            y2: { field: 'high' },
          },
        },
        {
          data: { values: looks },
          mark: { type: 'tick', color: colour('text'), orient: 'horizontal', size: 9, thickness: 2 },
          encoding: { x: { field: 'at', ...roundAxis(effect.rounds) }, y: { field: 'percent', ...y } },
        },
        {
          data: { values: rounds },
          mark: { type: 'point', filled: true, size: 40, color: ofHead, opacity: 1 },
          encoding: {
            x: { field: 'round', ...roundAxis(effect.rounds) },
            y: { field: 'percent', ...y },
            shape: {
              field: 'first',
              type: 'nominal',
              scale: {
                domain: [comparison.against, comparison.arm].map((name) => `${label(name)} first`),
                range: ['circle', 'diamond'],
              },
              legend: {},
            },
          },
        },
      ],
    },
  };
}
