/** What `qualify-kernels` prints: one JSON object a line. */
import { z } from 'zod';

export const isaSchema = z.enum(['portable', 'avx2', 'avx512']);
export type Isa = z.infer<typeof isaSchema>;

/** JSON has no infinity and no NaN: the suite writes null for both. */
const measured = z.number().nullable();

const headerSchema = z.strictObject({
  type: z.literal('header'),
  version: z.literal(1),
  /** Decimal, because it may be larger than a number holds. */
  seed: z.string().optional(),
  threads: z.int().positive(),
  thorough: z.boolean().optional(),
  quick: z.boolean().optional(),
  cases: z.int().nonnegative().optional(),
  /** Operations that are measured. */
  operations: z.int().nonnegative().optional(),
  /** Instruction sets that were asked for, and those that build and CPU can run: names, blanks between them. */
  isas: z.string().optional(),
  supported: z.string().optional(),
});

const caseSchema = z.strictObject({
  type: z.literal('case'),
  group: z.string(),
  name: z.string(),
  isa: isaSchema,
  class: z.enum(['exact', 'bounded']),
  outcome: z.enum(['passed', 'failed', 'unsupported']),
  compared: z.int().nonnegative().optional(),
  nmse: measured.optional(),
  maxAbs: measured.optional(),
  /** 1 - cosine. */
  cosineDistance: measured.optional(),
  failure: z.string().optional(),
  ms: z.number().optional(),
});

const summarySchema = z.strictObject({
  type: z.literal('summary'),
  passed: z.int(),
  failed: z.int(),
  unsupported: z.int(),
  ms: z.number(),
});

const ceilingSchema = z.strictObject({
  type: z.literal('ceiling'),
  name: z.string(),
  isa: isaSchema,
  unit: z.string(),
  one: z.number(),
  all: z.number(),
  threads: z.int(),
});

const measureSchema = z.strictObject({
  type: z.literal('measure'),
  op: z.string(),
  shape: z.string(),
  isa: isaSchema,
  threads: z.int(),
  us: z.number(),
  rate: z.number(),
  unit: z.string(),
  ofCeiling: measured,
  against: z.string().optional(),
  speedup: measured.optional(),
});

const endSchema = z.strictObject({ type: z.literal('end') });

const lineSchema = z.discriminatedUnion('type', [
  headerSchema,
  caseSchema,
  summarySchema,
  ceilingSchema,
  measureSchema,
  endSchema,
]);

export type SuiteCase = z.infer<typeof caseSchema>;
export type SuiteMeasure = z.infer<typeof measureSchema>;
export type SuiteLine = z.infer<typeof lineSchema>;

/** Reads one line. @throws a ZodError or SyntaxError for anything that the suite does not print. */
export const parseSuiteLine = (text: string): SuiteLine => lineSchema.parse(JSON.parse(text));
