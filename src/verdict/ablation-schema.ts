/** What a verdict says of an ablation. */
import { z } from 'zod';
import { designSchema, switchNameSchema } from '../matrix/schema.js';

/** Percents are of the rate, of high against low (on against off); null bounds when nothing tells the noise. */
const boundedSchema = z.strictObject({
  percent: z.number(),
  lowerPercent: z.number().nullable(),
  upperPercent: z.number().nullable(),
  /** Two-sided confidence of the bounds, such as 0.95; null without bounds. */
  level: z.number().nullable(),
});

/** What one switch did on the average over the other arms, as a claim beside the other claims. */
const switchEffectSchema = boundedSchema.extend({
  /** Two-sided; null when nothing tells the noise. */
  p: z.number().nullable(),
  /** By Holm over all switches and cells of the session. */
  adjustedP: z.number().nullable(),
  /** The claim "it matters" stands; its bounds then leave out no change, and else hold it. */
  stands: z.boolean(),
});

const pairSchema = z.strictObject({
  /** Pairs whose effects one contrast holds together: the design cannot tell them apart. */
  pairs: z.array(z.tuple([switchNameSchema, switchNameSchema])).min(1),
  /** Parts of further pairs are mixed in. */
  mixed: z.boolean(),
  /** Half of what one switch of the pair does more when the other is on. */
  percent: z.number(),
  /** Null with one round: then the pairs are what the noise is told from. */
  p: z.number().nullable(),
  /** By Benjamini and Hochberg over all pairs of the session: a ranking of what to look at, no claim. */
  adjustedP: z.number().nullable(),
});

const ablationCellSchema = z.strictObject({
  cell: z.string(),
  /** Standard deviation of one launch in percent of the rate, its degrees of freedom, and where it is from. */
  noise: z.strictObject({
    percent: z.number().nullable(),
    freedom: z.int(),
    from: z.enum(['replicates', 'residual', 'none']),
  }),
  /** In the order of the factors. */
  switches: z.array(
    z.strictObject({
      switch: switchNameSchema,
      low: z.string(),
      high: z.string(),
      /** Null when an arm that it needs is refused, or nothing shows that it worked. */
      effect: switchEffectSchema.nullable(),
    }),
  ),
  /** Exploratory, largest first; of folded designs only. */
  pairs: z.array(pairSchema),
  /** All on against all off, as measured and not as added up; null when an arm of it is refused. */
  joint: boundedSchema.nullable(),
  /** Arms that are refused. */
  refused: z.array(z.string()),
});

/** What an ablation found. It decides nothing: the result of the session says whether everything is proved. */
export const ablationSchema = z.strictObject({
  kind: designSchema.shape.kind,
  rounds: z.int(),
  /** Chance of any false claim over all switches and cells. */
  jointLevel: z.number(),
  witnesses: z.array(
    z.strictObject({
      switch: switchNameSchema,
      status: z.enum(['kernels', 'counters', 'none']),
      message: z.string(),
    }),
  ),
  cells: z.array(ablationCellSchema),
});

export type Ablation = z.infer<typeof ablationSchema>;
export type AblationCell = z.infer<typeof ablationCellSchema>;
export type SwitchEffect = AblationCell['switches'][number];
