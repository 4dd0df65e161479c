/** What is simulated to learn the rule's error rates: noise alone, and each disturbance that a machine may add to it. */
import { type Simulation, simulationSchema } from '../matrix/simulation.js';

export interface Scenario {
  /** `none`, or the disturbance. */
  disturbance: string;
  /** Noise of requests; in `launches alone` it is the noise of launches. */
  cvPercent: number;
  /** What is true of every cell of the matrix. */
  effectPercent: number;
  interval: 't' | 'walsh';
  simulation: Simulation;
}

const drift = { driftPercent: -4 };
const walk = { walkPercent: 0.2 };
const step = { stepPercent: -3 };
const ramp = { warmupRampPercent: 3 };
const slot = { secondSlotPercent: -0.5 };
const hits = { slowHitShare: 0.03, slowHitPercent: 8 };

type Noise = Partial<Simulation>;

/** Launches that vary as much as requests do; and launches in which nothing else varies: each is then one value. */
export const LAUNCHES = 'launches too';
export const LAUNCHES_ALONE = 'launches alone';

/** Disturbances by what a table calls them. */
const disturbances: readonly [name: string, noise: (cvPercent: number) => Noise][] = [
  ['drift -4 %', () => drift],
  ['walk 0.2 %', () => walk],
  ['step -3 %', () => step],
  ['ramp 3 %', () => ramp],
  ['slot 2 -0.5 %', () => slot],
  ['slow hits 2-8 %', () => hits],
  ['all of these', () => ({ ...drift, ...walk, ...step, ...ramp, ...slot, ...hits })],
  [LAUNCHES, (cvPercent) => ({ launchCvPercent: cvPercent })],
  [LAUNCHES_ALONE, (cvPercent) => ({ launchCvPercent: cvPercent, cvPercent: 0 })],
];

export const UNDISTURBED = 'none';
const cvs = [0.2, 0.5, 1, 2];
const disturbedCvs = [0.5, 1];
const effects = [0, -1, -2, -3, -5];
const intervals = ['t', 'walsh'] as const;

function scenario(
  disturbance: string,
  noise: (cvPercent: number) => Noise,
  cvPercent: number,
  effectPercent: number,
  interval: 't' | 'walsh',
): Scenario {
  const simulation = simulationSchema.parse({ cvPercent, ...noise(cvPercent) });
  return { disturbance, cvPercent, effectPercent, interval, simulation };
}

/** Every scenario, in the order of the tables. */
export const scenarios: readonly Scenario[] = intervals.flatMap((interval) => [
  ...cvs.flatMap((cv) => effects.map((effect) => scenario(UNDISTURBED, () => ({}), cv, effect, interval))),
  ...disturbances.flatMap(([name, noise]) =>
    disturbedCvs.flatMap((cv) => effects.map((effect) => scenario(name, noise, cv, effect, interval))),
  ),
]);

/** Names the randomness of a scenario: t and Walsh decide on the same rates. */
export const scenarioLabel = ({ disturbance, cvPercent, effectPercent }: Scenario): string =>
  `${disturbance}:${cvPercent}:${effectPercent}`;
