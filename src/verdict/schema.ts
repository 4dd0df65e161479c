/** A verdict as `verdict.json` has it. */
import { z } from 'zod';
import { paritySchema, phaseSchema } from '../matrix/schema.js';
import { sha256Schema } from '../plan/schema.js';
import { ablationSchema } from './ablation-schema.js';

/** From best to worst; a cell's verdict is its worst comparison, the result the worst required cell. */
export const verdictNames = [
  'pass',
  'inconclusive',
  'fail',
  'infrastructure',
  'not-measured',
  'unsupported',
  'contaminated',
  'unmatched',
  'cold-unproved',
  'parity-failed',
] as const;
export const verdictNameSchema = z.enum(verdictNames);

/** Why, as a stable code and a sentence with a remedy. */
export const reasonSchema = z.strictObject({
  code: z.string().regex(/^[a-z][a-z0-9-]*$/),
  message: z.string(),
});

export const armSummarySchema = z.strictObject({
  n: z.int(),
  median: z.number(),
  /** Unscaled median absolute deviation, as the field prints it. */
  mad: z.number(),
  min: z.number(),
  max: z.number(),
  /** Retained samples in order of execution. */
  samples: z.array(z.number()),
  unit: z.literal('tok/s'),
  /** Median milliseconds by stage. */
  stages: z.record(z.string(), z.number()),
  /** The same samples by the other clock. */
  otherClock: z
    .strictObject({ clock: z.enum(['wall', 'cpu']), median: z.number(), mad: z.number() })
    .nullable(),
});

const intervalSchema = z.strictObject({ lower: z.number(), upper: z.number() });

/** Ratios and percents are of head over base; `lower` and `upper` bound the ratio at one-sided `level`. */
export const effectSchema = z.strictObject({
  deltaPercent: z.number(),
  ratio: z.number(),
  lower: z.number().nullable(),
  upper: z.number().nullable(),
  /** One-sided confidence, such as 0.9806; null when there are too few rounds for any interval. */
  level: z.number().nullable(),
  rounds: z.int(),
  /** ln(median of arm / median of reference), one a round, in order. */
  perRound: z.array(z.number()),
  t: intervalSchema.nullable(),
  walsh: intervalSchema.nullable(),
  /** Smallest slowdown in percent that this many rounds at this noise would have cleared or caught. */
  minimumDetectablePercent: z.number().nullable(),
  roundsStillNeeded: z.int().nullable(),
});

const paritySummarySchema = z.strictObject({
  level: paritySchema,
  /** `within`: not identical, but inside of the limits of level `bounded`. */
  status: z.enum(['identical', 'within', 'different', 'inconclusive', 'vacuous', 'unproved']),
  /** Over the per-sample digests of the arm, in order; null when not identical. */
  sha256: sha256Schema.nullable(),
  pairs: z.int(),
  /** At level `bounded`, once there is something to compare: how far the outputs are apart. */
  distance: z
    .strictObject({
      positions: z.int(),
      top1: z.number(),
      common: z.number(),
      meanLogProbability: z.number().nullable(),
    })
    .optional(),
});

export const comparisonSchema = z.strictObject({
  arm: z.string(),
  against: z.string(),
  verdict: verdictNameSchema,
  /** `improved`, `neutral`, `slower-in-budget`, `beyond-budget`, `slower-not-cleared`, `measured`; null for refusals. */
  detail: z.string().nullable(),
  reasons: z.array(reasonSchema),
  /** Null when a proof is missing: no statistics are shown then. */
  effect: effectSchema.nullable(),
  parity: paritySummarySchema,
});

export const cellVerdictSchema = z.strictObject({
  id: z.string(),
  promptTokens: z.int(),
  chunk: z.int(),
  phase: phaseSchema,
  generatedTokens: z.int(),
  required: z.boolean(),
  marginPercent: z.number(),
  verdict: verdictNameSchema,
  coldness: z.strictObject({
    status: z.enum(['proved', 'control-only', 'unproved', 'violated']),
    reasons: z.array(reasonSchema),
  }),
  /** Empty of arms when a proof is missing: no tok/s is printed for what is not proved. */
  arms: z.record(z.string(), armSummarySchema),
  comparisons: z.array(comparisonSchema),
});

/**
 * A check of the session by itself, in one cell. Percents are of the rate, bounds one-sided at the plan's level (`null`, `warm-up`: .001);
 * all are null when it could not be taken. `null`: the reference against itself. `lever-off`: that arm against the reference.
 * `warm-up`: last retained sample of a launch against the first. `slot`: second launch of a round against the first. `order`: the
 * effect with a linear drift taken out.
 */
const controlSchema = z.strictObject({
  name: z.enum(['null', 'lever-off', 'warm-up', 'slot', 'order']),
  cell: z.string(),
  /** The arm it is about; null when it is about all of them. */
  arm: z.string().nullable(),
  /**
   * `ok`: the whole interval is within plus or minus `limitPercent`. `exceeded`: all of it is beyond (`order`: of the other sign than
   * the effect), which refuses, demotes or warns. `unclear`: neither, so that nothing is shown at this noise. `not-taken` says why
   * in `message`.
   */
  status: z.enum(['ok', 'unclear', 'exceeded', 'not-taken']),
  percent: z.number().nullable(),
  lowerPercent: z.number().nullable(),
  upperPercent: z.number().nullable(),
  limitPercent: z.number().nullable(),
  rounds: z.int(),
  message: z.string(),
});

export const verdictSchema = z.strictObject({
  schemaVersion: z.literal(1),
  session: z.string(),
  matrix: z.strictObject({ name: z.string(), title: z.string(), digest: sha256Schema }),
  planDigest: sha256Schema,
  clock: z.enum(['wall', 'cpu']),
  /** `small`: a required cell has fewer rounds than the fewest from which anything can pass. */
  protocol: z.enum(['full', 'small']),
  result: verdictNameSchema,
  exitCode: z.int(),
  reasons: z.array(reasonSchema),
  /** Things worth knowing that do not decide: client and server clocks apart, foreign load, few rounds. */
  warnings: z.array(reasonSchema),
  cells: z.array(cellVerdictSchema),
  controls: z.array(controlSchema),
  /** Of a plan with a design only. */
  ablation: ablationSchema.optional(),
});

export type Verdict = z.infer<typeof verdictSchema>;
export type VerdictName = z.infer<typeof verdictNameSchema>;
export type CellVerdict = z.infer<typeof cellVerdictSchema>;
export type Comparison = z.infer<typeof comparisonSchema>;
export type ArmSummary = z.infer<typeof armSummarySchema>;
export type Effect = z.infer<typeof effectSchema>;
export type Control = z.infer<typeof controlSchema>;
export type Reason = z.infer<typeof reasonSchema>;
