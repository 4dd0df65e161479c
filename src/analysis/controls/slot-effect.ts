/** The slot effect: what it costs to be launched second in a round. The balanced order cancels it; its size says how much there was to cancel. */
import { mean } from '../statistics.js';
import { type Estimate, estimateOf, squaresOf } from './interval.js';

/**
 * ln(rate of the arm launched second / rate of the one launched first), cleared of the effect between the arms. `perRound` are
 * ln(head / base), one a round; `baseFirst` says of each round whether base was launched before head. Null unless both orders
 * occur and there are three rounds.
 */
export function slotEffect(
  perRound: readonly number[],
  baseFirst: readonly boolean[],
  level: number,
): Estimate | null {
  const after = perRound.filter((_, round) => baseFirst[round] === true);
  const before = perRound.filter((_, round) => baseFirst[round] === false);
  const freedom = after.length + before.length - 2;
  if (after.length === 0 || before.length === 0 || freedom < 1) return null;
  const variance = (squaresOf(after) + squaresOf(before)) / freedom;
  const error = Math.sqrt(variance * (1 / after.length + 1 / before.length)) / 2;
  return estimateOf((mean(after) - mean(before)) / 2, error, freedom, level);
}
