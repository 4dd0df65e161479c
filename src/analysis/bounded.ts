/** How far the outputs of two arms are apart where rounding may differ: agreement on the best id, and log-probabilities. */
import type { Sample } from './observations.js';
import { mean } from './statistics.js';

/** What was seen over pairs of samples with the same prompt. */
export interface Distance {
  /** Generated positions that were compared: those with the same ids before them in both arms. */
  positions: number;
  /** Share of them at which both arms gave the same id. */
  top1: number;
  /** Share of the likeliest ids of a position that both arms name, as the mean over positions. */
  common: number;
  /** Mean of |difference of log-probability| over ids that both arms name; null when they have none in common. */
  meanLogProbability: number | null;
}

type Pair = readonly [Sample, Sample];

/** Positions until the arms part, that one included: what follows has other ids before it and is no comparison. */
function comparablePositions([base, head]: Pair): number {
  const [left, right] = [base.answer.tokens, head.answer.tokens];
  const parting = left.findIndex((id, position) => id !== right[position]);
  return parting < 0 ? Math.min(left.length, right.length) : parting + 1;
}

/** |Difference of log-probability| of each id in common, and the share of ids that are. */
function apartAt([base, head]: Pair, position: number): { differences: number[]; common: number } {
  const [left, right] = [base, head].map(({ answer }) => answer.probabilities?.[position] ?? []);
  const other = new Map(right);
  const differences = (left ?? []).flatMap(([id, logProbability]) => {
    const theirs = other.get(id);
    return theirs === undefined ? [] : [Math.abs(logProbability - theirs)];
  });
  return { differences, common: differences.length / Math.max(1, left?.length ?? 0, other.size) };
}

/** The distance over at least one pair. */
export function distanceOf(pairs: readonly Pair[]): Distance {
  const places = pairs.flatMap((pair) =>
    Array.from({ length: comparablePositions(pair) }, (_, position) => ({ pair, position })),
  );
  const agreed = places.filter(
    ({ pair: [base, head], position }) => base.answer.tokens[position] === head.answer.tokens[position],
  );
  const apart = places.map(({ pair, position }) => apartAt(pair, position));
  const differences = apart.flatMap((place) => place.differences);
  return {
    positions: places.length,
    top1: places.length === 0 ? 0 : agreed.length / places.length,
    common: places.length === 0 ? 0 : mean(apart.map(({ common }) => common)),
    meanLogProbability: differences.length === 0 ? null : mean(differences),
  };
}

/** Whether an answer names likely ids at every position that it generated, the given id first among them. */
export function namesProbabilities({ answer: { tokens, probabilities } }: Sample): boolean {
  return (
    probabilities?.length === tokens.length &&
    tokens.every((id, position) => probabilities[position]?.[0]?.[0] === id)
  );
}
