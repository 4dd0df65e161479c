/** The sentences of a verdict: what the bounds say, and what they cannot say. */
import {
  fewestRounds,
  type LogEffect,
  minimumDetectablePercent,
  roundsStillNeeded,
} from '../analysis/effect.js';
import { type Finding, finding } from '../analysis/finding.js';
import { plainPercent, signedPercent } from './percent.js';
import { type Decision, logMargin } from './zone.js';

function tooFew(rounds: number): Finding {
  const message =
    rounds === 1
      ? 'one round: what the change did cannot be told from what this launch and this minute did; no interval, no "no regression"'
      : `${rounds} rounds are too few for an interval; ${fewestRounds} are the fewest`;
  return finding('too-few-rounds', message);
}

/** Why a comparison with statistics got its verdict; empty for a plain pass. */
export function explain(effect: LogEffect, decision: Decision, marginPercent: number): Finding[] {
  if (decision.detail === 'measured') return [];
  const bounds = effect.deciding;
  if (bounds === null) return [tooFew(effect.perRound.length)];
  const interval = `between ${signedPercent(Math.exp(bounds.lower))} and ${signedPercent(Math.exp(bounds.upper))}`;
  const budget = plainPercent(marginPercent);
  if (decision.detail === 'beyond-budget') {
    return [finding('beyond-budget', `${interval}: slower by more than the budget of ${budget}`)];
  }
  if (decision.detail === 'slower-not-cleared') {
    return [
      finding(
        'slower-not-cleared',
        `${interval}: slower, and not shown to stay within the budget of ${budget}`,
      ),
    ];
  }
  if (decision.detail === 'slower-in-budget') {
    return [finding('slower-in-budget', `${interval}: slower, within the budget of ${budget}`)];
  }
  if (decision.verdict !== 'inconclusive') return [];
  const smallest = minimumDetectablePercent(effect);
  const more = roundsStillNeeded(effect, logMargin(marginPercent));
  const sees = smallest === null ? '' : `; these rounds can see a slowdown of ${plainPercent(smallest)}`;
  const need = more === null ? '' : `; about ${more} more rounds would decide`;
  return [finding('undecided', `${interval} holds both no change and the budget of ${budget}${sees}${need}`)];
}
