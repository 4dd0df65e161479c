/** The sentences of a verdict: what the bounds say, and what they cannot say. */

import {
  fewestRounds,
  type LogEffect,
  minimumDetectablePercent,
  roundsStillNeeded,
} from '../analysis/effect.js';
import { type Finding, finding } from '../analysis/finding.js';
import { counted } from '../counted.js';
import { plainPercent, signedPercent } from './percent.js';
import { type Decision, logMargin } from './zone.js';

function tooFew(effect: LogEffect): Finding {
  const rounds = effect.perRound.length;
  const more = fewestRounds - rounds;
  const message =
    rounds === 1
      ? `one round: what the change did cannot be told from what this launch and this minute did; no interval, no "no regression"; ${counted(more, 'more round')} give one`
      : `${rounds} rounds are too few for an interval; ${fewestRounds} are the fewest, ${more} more${seen(effect)}`;
  return finding('too-few-rounds', message);
}

/** What these rounds could have seen; nothing from one round. */
function seen(effect: LogEffect): string {
  const smallest = minimumDetectablePercent(effect);
  return smallest === null ? '' : `; these rounds can see a slowdown of ${plainPercent(smallest)}`;
}

/** Why a comparison with statistics got its verdict; empty for a plain pass. */
export function explain(effect: LogEffect, decision: Decision, marginPercent: number): Finding[] {
  if (decision.detail === 'measured') return [];
  const bounds = effect.deciding;
  if (bounds === null) return [tooFew(effect)];
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
  const more = roundsStillNeeded(effect, logMargin(marginPercent));
  const need =
    more === null
      ? '; no number of rounds would decide it soon'
      : `; about ${counted(more, 'more round')} would decide`;
  return [
    finding(
      'undecided',
      `${interval} holds both no change and the budget of ${budget}${seen(effect)}${need}`,
    ),
  ];
}
