/** Tokens a second of one answer. Rates are computed here and stored nowhere. */

import type { Answer } from '../journal/entries.js';
import type { Phase } from '../matrix/schema.js';

export type Clock = 'wall' | 'cpu';

export const otherClock = (clock: Clock): Clock => (clock === 'wall' ? 'cpu' : 'wall');

/** Milliseconds of a phase by a clock; null when the engine does not tell. */
export function phaseMs(answer: Answer, phase: Phase, clock: Clock): number | null {
  if (phase === 'prefill') return clock === 'wall' ? answer.promptMs : answer.promptCpuMs;
  return clock === 'wall' ? answer.predictedMs : answer.predictedCpuMs;
}

/**
 * Rate of a phase in tokens a second: evaluated prompt tokens over prefill time, or generated tokens after the first
 * (which ends the prefill) over decode time. Null without a count, or without a time above zero.
 */
export function rateOf(answer: Answer, phase: Phase, clock: Clock): number | null {
  const ms = phaseMs(answer, phase, clock);
  const tokens = phase === 'prefill' ? answer.promptN : answer.predictedN - 1;
  if (ms === null || ms <= 0 || tokens === null || tokens < 1) return null;
  return tokens / (ms / 1000);
}
