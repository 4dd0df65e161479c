/** How far the outputs of two arms are apart where rounding may differ: agreement on the best id, and log-probabilities. */
import { counted } from '../counted.js';
import type { Answer } from '../journal/entries.js';
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

/** What of an answer is compared. */
interface Compared {
  answer: Pick<Answer, 'tokens' | 'probabilities'>;
}

type Pair = readonly [Compared, Compared];

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

/** Nats that rounding may add: a probability of 1 in fp32, a sum over the vocabulary. */
const ROUNDING = 1e-3;
/** What llama-server writes for a probability of 0; below it no fp32 is. */
const LOWEST = -3.402_823_466_385_288_6e38;

/** Why the likeliest ids of a position, as an answer names them for the id it gave, are none; null when they are as asked. */
function flawOf(named: readonly (readonly [number, number])[], given: number, asked: number): string | null {
  const [ids, logs] = [named.map(([id]) => id), named.map(([, logProbability]) => logProbability)];
  const distinct = new Set(ids).size;
  if (ids.length !== asked || distinct !== asked) {
    return `names ${counted(ids.length, 'id')}, ${distinct} of them distinct, where ${asked} were asked for`;
  }
  if (ids[0] !== given) return `names ${ids[0]} first, but gave ${given}`;
  const wild = logs.find((log) => !(log <= ROUNDING && log >= LOWEST));
  if (wild !== undefined) return `gives ${wild} as a log-probability`;
  if (logs.some((log, rank) => log > (logs[rank - 1] ?? log) + ROUNDING)) {
    return 'does not name the likeliest ids in descending order';
  }
  const sum = logs.reduce((total, log) => total + Math.exp(log), 0);
  return sum > 1 + ROUNDING ? `gives probabilities that add up to ${sum.toPrecision(3)}` : null;
}

/** What an answer lacks to be compared, with its launch and position; null when nothing. */
export function probabilitiesFlaw(sample: Sample, asked: number): string | null {
  const { tokens, probabilities = [] } = sample.answer;
  const answer = `launch ${sample.launch}, ${sample.prompt}`;
  if (probabilities.length !== tokens.length) {
    return `${answer} names likely ids at ${probabilities.length} of ${tokens.length} positions`;
  }
  for (const [position, given] of tokens.entries()) {
    const flaw = flawOf(probabilities[position] ?? [], given, asked);
    if (flaw !== null) return `${answer}, position ${position} ${flaw}`;
  }
  return null;
}
