/** A difference between an engine and itself in one configuration: no change can have made it, whatever its size. */
import { finding } from '../analysis/finding.js';
import type { Comparison } from './schema.js';

/** The detail stays where the rule called it a fail, so that a calibration can count how often it does. */
export function withoutFalseAlarm(comparison: Comparison): Comparison {
  const { arm, against, verdict, detail, effect } = comparison;
  const isFail = verdict === 'fail';
  if (effect === null || !(isFail || detail === 'improved')) return comparison;
  const remedy = isFail ? '; quiet it or raise the budget' : '';
  const message = `${against} and ${arm} are one engine in one configuration: this difference is the machine's noise${remedy}`;
  const reasons = [finding('false-alarm', message)];
  if (!isFail) return { ...comparison, detail: 'neutral', reasons };
  return { ...comparison, verdict: 'inconclusive', reasons, effect: { ...effect, roundsStillNeeded: null } };
}
