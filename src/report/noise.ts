/** How much the rounds of a comparison scatter, and what launches tell where there are too few rounds for paired bounds. */
import { fewestRounds } from '../analysis/effect.js';
import { mannWhitney, shift } from '../analysis/mann-whitney.js';
import { median, robustSigma } from '../analysis/statistics.js';
import { plainPercent, signedPercent } from '../verdict/percent.js';
import type { ArmSummary } from '../verdict/schema.js';
import type { Detail } from './details.js';
import type { Row } from './rows.js';

/** The spread of the rounds' own ratios, by the MAD with its small-sample factor; of two rounds nothing is told. */
export function noiseDetail({ comparison: { effect } }: Row): Detail[] {
  if (effect === null || effect.perRound.length < 3) return [];
  const sigma = robustSigma(effect.perRound);
  return [
    {
      label: 'noise',
      text: `the ratio varies by ${plainPercent(100 * Math.expm1(sigma))} from round to round (robust sigma)`,
    },
  ];
}

/** Logarithms of the medians of launches, in order of rounds; samples are stored launch after launch. */
function launchRates({ samples }: ArmSummary, rounds: number): number[] {
  const perLaunch = samples.length / rounds;
  return Array.from({ length: rounds }, (_, round) =>
    Math.log(median(samples.slice(round * perLaunch, (round + 1) * perLaunch))),
  );
}

/**
 * For protocols below six rounds, where pairs give no bounds at a useful level: the two sets of launches as if they were not paired.
 * With four launches an arm the exact bounds reach 95 %; with fewer nothing does, and nothing is said.
 */
export function launchesDetail({ comparison: { effect }, base, head }: Row): Detail[] {
  if (effect === null || !base || !head || effect.rounds >= fewestRounds) return [];
  const whole = [base, head].every(({ samples }) => samples.length % effect.rounds === 0);
  if (!whole) return [];
  const [before, after] = [launchRates(base, effect.rounds), launchRates(head, effect.rounds)];
  const { centre, bounds } = shift(before, after, 0.025);
  if (bounds === null) return [];
  const interval = [bounds.lower, bounds.upper].map((log) => signedPercent(Math.exp(log))).join(' to ');
  const level = (100 * (1 - 2 * bounds.level)).toFixed(1);
  const p = Number(mannWhitney(before, after).twoSided.toPrecision(2));
  return [
    {
      label: 'launches',
      text: `${signedPercent(Math.exp(centre))}, ${interval} (Hodges-Lehmann, ${level} %; Mann-Whitney p ${p}), if nothing drifts; does not decide`,
    },
  ];
}
