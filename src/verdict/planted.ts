/** What a session says of a slowdown that was planted in it: that it qualifies nothing, and whether it was found. */
import { type Finding, finding } from '../analysis/finding.js';
import { plantedText } from '../matrix/planted.js';
import type { Plan } from '../plan/schema.js';
import { plainPercent, signedPercent } from './percent.js';
import type { CellVerdict, Comparison } from './schema.js';

/** Why a comparison did not fail, as far as it follows from what was planted. */
function whyMissed({ effect }: Comparison, marginPercent: number, planted: number): string {
  // What takes p % longer has a rate that is p / (100 + p) lower.
  const slower = (100 * planted) / (100 + planted);
  if (effect !== null && effect.lower !== null && effect.lower > 1)
    return `the arms differ by ${signedPercent(effect.ratio)} anyway, so that it cannot show`;
  if (slower <= marginPercent)
    return `what takes ${planted} % longer is within the budget of ${plainPercent(marginPercent)}`;
  if (effect !== null && effect.lower === null)
    return `${effect.rounds} round${effect.rounds === 1 ? '' : 's'} give no interval`;
  return 'these rounds do not show it';
}

/** Cells by why they missed it. */
function missedIn(arm: string, planted: number, cells: readonly CellVerdict[]): string[] {
  const byWhy = new Map<string, string[]>();
  for (const { id, marginPercent, comparisons } of cells) {
    const own = comparisons.find((comparison) => comparison.arm === arm);
    if (own === undefined || own.effect === null || own.verdict === 'fail') continue;
    const why = whyMissed(own, marginPercent, planted);
    byWhy.set(why, [...(byWhy.get(why) ?? []), id]);
  }
  return [...byWhy].map(([why, ids]) => `not found in ${ids.join(', ')} (${why})`);
}

/** A slowdown that was planted is a test of the session: it may fail, as it should, and qualifies nothing. */
export function plantedReasons({ arms }: Plan, cells: readonly CellVerdict[]): Finding[] {
  return arms.flatMap(({ name, plantedSlowdownPercent: percent }) => {
    if (percent === undefined) return [];
    const missed = missedIn(name, percent, cells).map((text) => `; ${text}`);
    const message = `arm ${name} has a ${plantedText(percent)}: this is no qualification${missed.join('')}`;
    return [finding('planted', message)];
  });
}
