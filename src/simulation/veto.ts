/** Checks of a simulated cell that refuse it, as the controls of a session do, before statistics are looked at. */
import { mean, sampleDeviation } from '../analysis/statistics.js';
import { tQuantile } from '../analysis/student-t.js';

/** What was seen of a cell up to a look. */
export interface SeenCell {
  rounds: number;
  /** Retained samples a launch. */
  samples: number;
  /** Log rates: sample `s` of the launch at place `p` of round `r` is at `(2 r + p) * samples + s`. */
  logs: Float64Array;
  /** The place of head in each round, 0 or 1. */
  headAt: Uint8Array;
  /** ln(head / base) of each round, by medians. */
  ratios: readonly number[];
}

/** Why a cell is refused, or null. */
export type Veto = (cell: SeenCell, marginPercent: number) => string | null;

const oneSidedLevel = 0.001;

/** Change of the log rate from the first to the last retained sample of a launch, by a straight line fitted to them. */
function fittedChange({ logs, samples }: SeenCell, launch: number): number {
  const middle = (samples - 1) / 2;
  let slope = 0;
  let squares = 0;
  for (let s = 0; s < samples; s++) {
    slope += (s - middle) * (logs[launch * samples + s] ?? 0);
    squares += (s - middle) ** 2;
  }
  return (slope / squares) * (samples - 1);
}

/**
 * Were the warm-ups enough? Refuses when rates within launches rise or fall by more than a quarter of the margin, surely: the t
 * interval over launches, at a one-sided level of .001, is wholly beyond it.
 */
export const warmUpAdequacy: Veto = (cell, marginPercent) => {
  if (cell.samples < 2) return null;
  const changes = Array.from({ length: 2 * cell.rounds }, (_, launch) => fittedChange(cell, launch));
  const centre = mean(changes);
  const quantile = tQuantile(1 - oneSidedLevel, changes.length - 1);
  const half = (quantile * sampleDeviation(changes)) / Math.sqrt(changes.length);
  const limit = marginPercent / 400;
  return Math.abs(centre) - half > limit ? 'warm-up-inadequate' : null;
};

/** Those that a session applies. */
export const vetoes: readonly Veto[] = [warmUpAdequacy];
