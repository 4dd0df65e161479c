/**
 * What equal things differ by on a machine: requests inside of a launch, launches, the two places of a round. From rounds in
 * which both arms are the same. Everything is of ln(rate), so 0.01 is a coefficient of variation of 1 %.
 */
import { chiSquareQuantile } from './chi-square.js';
import { mean, robustSigma, sampleDeviation } from './statistics.js';
import { tQuantile } from './student-t.js';

/** Variance of the median of n normal values of variance 1, from n = 1 on. */
const medianVariances = [
  1, 0.5, 0.4487, 0.2982, 0.2868, 0.2147, 0.2104, 0.1682, 0.1661, 0.1383, 0.1372, 0.1175,
];

/** Variance of the median of `count` normal values of variance 1. Beyond the table within 4 %. */
export const medianVariance = (count: number): number =>
  medianVariances[count - 1] ?? Math.PI / (2 * count + Math.PI - 2);

/** Request noise: the mean over launches of each launch's own robust deviation; null when no launch has two samples. */
export function requestDeviation(launches: readonly (readonly number[])[]): number | null {
  const own = launches.filter((values) => values.length >= 2).map(robustSigma);
  return own.length === 0 ? null : mean(own);
}

/** One round of equal arms. */
interface NoiseRound {
  /** ln(median rate of the arm / median rate of the reference). */
  lnRatio: number;
  /** The arm was launched after the reference. */
  armSecond: boolean;
}

/** What one session of equal arms showed in one cell. */
interface SessionNoise {
  rounds: readonly NoiseRound[];
  /** Standard deviation of ln(rate) inside of a launch; null when launches have one sample. */
  requestDeviation: number | null;
  samplesPerLaunch: number;
}

export interface Bounded {
  value: number;
  lower: number;
  upper: number;
}

/** Over sessions of one cell. Standard deviations on the log scale. */
export interface Noise {
  sessions: number;
  rounds: number;
  request: number | null;
  /** Between launches beyond what their requests explain; null when requests are not known. */
  launch: number | null;
  /** `launch` over `request`: from about 0.25 on, more requests in a launch no longer help. */
  launchToRequest: number | null;
  /** Of a round's log ratio, with its 90 % interval: what decides. */
  round: Bounded;
  /** Second place of a round over the first, with its 95 % interval. */
  slot: Bounded;
}

/** Of the interval of the deviation of a round. */
const roundTail = 0.05;
const slotTail = 0.025;

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Pooled over sessions, each about its own mean, so that sessions may differ without adding to it. */
function pooledRound(sessions: readonly SessionNoise[]): Bounded {
  const lists = sessions.map(({ rounds }) => rounds.map(({ lnRatio }) => lnRatio));
  const freedom = sumOf(lists.map((list) => list.length - 1));
  const squares = sumOf(lists.map((list) => (list.length - 1) * sampleDeviation(list) ** 2));
  return {
    value: Math.sqrt(squares / freedom),
    lower: Math.sqrt(squares / chiSquareQuantile(1 - roundTail, freedom)),
    upper: Math.sqrt(squares / chiSquareQuantile(roundTail, freedom)),
  };
}

function pooledSlot(sessions: readonly SessionNoise[]): Bounded {
  const values = sessions.flatMap(({ rounds }) =>
    rounds.map(({ lnRatio, armSecond }) => (armSecond ? lnRatio : -lnRatio)),
  );
  const value = mean(values);
  const half =
    (tQuantile(1 - slotTail, values.length - 1) * sampleDeviation(values)) / Math.sqrt(values.length);
  return { value, lower: value - half, upper: value + half };
}

/**
 * Components of variance. A round's log ratio is the difference of two medians, so its variance is twice that of a launch and of
 * the median of its requests: var(d) = 2 (launch² + medianVariance(n) request²). Null without a session of at least two rounds.
 */
export function noiseOf(all: readonly SessionNoise[]): Noise | null {
  const sessions = all.filter(({ rounds }) => rounds.length >= 2);
  if (sessions.length === 0) return null;
  const round = pooledRound(sessions);
  const known = sessions.flatMap(({ requestDeviation: own, samplesPerLaunch, rounds }) =>
    own === null ? [] : [{ own, samplesPerLaunch, weight: rounds.length }],
  );
  const weights = sumOf(known.map(({ weight }) => weight));
  const request =
    weights === 0 ? null : Math.sqrt(sumOf(known.map(({ own, weight }) => weight * own ** 2)) / weights);
  const explained =
    sumOf(
      known.map(({ own, samplesPerLaunch, weight }) => weight * medianVariance(samplesPerLaunch) * own ** 2),
    ) / weights;
  const launch = request === null ? null : Math.sqrt(Math.max(0, round.value ** 2 / 2 - explained));
  return {
    sessions: sessions.length,
    rounds: sumOf(sessions.map(({ rounds }) => rounds.length)),
    request,
    launch,
    launchToRequest: request === null || launch === null || request === 0 ? null : launch / request,
    round,
    slot: pooledSlot(sessions),
  };
}
