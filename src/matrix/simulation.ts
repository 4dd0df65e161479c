/**
 * The noise of a simulated engine: what a session of engine `simulated` is made of instead of a measurement. Percents are of the
 * rate; a negative one makes it slower. What each part does to a rate is in `src/simulation/noise.ts`.
 */
import { z } from 'zod';

const spread = z.number().min(0).max(50);
const change = z.number().min(-50).max(50);

export const simulationSchema = z.strictObject({
  /** Prompt tokens a second before any noise; decoding takes as long a token. High, so that a session takes seconds. */
  tokensPerSecond: z.number().min(1).max(1e9).default(200_000),
  /** Standard deviation of a request's own noise. */
  cvPercent: spread.default(0.5),
  /** Standard deviation of what all requests of one shape share in a launch. */
  launchCvPercent: spread.default(0),
  /** Change of the machine's speed from the first launch of the plan to its last, in a straight line. */
  driftPercent: change.default(0),
  /** Random walk of the machine's speed: standard deviation of a step, one step a launch. */
  walkPercent: spread.default(0),
  /** One change of the machine's speed, at a launch that the seed picks. */
  stepPercent: change.default(0),
  /** How much slower a launch's first request of a shape is; the loss halves with every request of that shape. */
  warmupRampPercent: spread.default(0),
  /** Change of every launch that is not the first of its round. */
  secondSlotPercent: change.default(0),
  /** Share of requests that something else hits, and the most percent by which such a request is slower (2 at least). */
  slowHitShare: z.number().min(0).max(1).default(0),
  slowHitPercent: z.number().min(2).max(50).default(8),
});

export type Simulation = z.infer<typeof simulationSchema>;
