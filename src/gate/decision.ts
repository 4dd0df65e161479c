/**
 * What a gate came to: one JSON document (`qualify gate --json`), from which every other output is made (text, Markdown, JUnit, CTRF,
 * GitHub), so that no output can say more or less than another.
 */
import { z } from 'zod';
import { evidenceKindSchema } from '../verdict/evidence-kind.js';
import { reasonSchema, verdictNameSchema } from '../verdict/schema.js';

/**
 * From best to worst. `waived`: would be `fail` or `inconclusive` but for signed waivers. `missing`: no run that counts, for instance because all are of
 * another head, or by keys that may not sign runs. `refused`: a run that counts is a refusal (cold unproved, parity, contaminated, ...),
 * which nothing can waive. `invalid`: no run that counts, and among those that were offered is one that does not verify.
 */
export const gateResults = [
  'pass',
  'waived',
  'inconclusive',
  'fail',
  'missing',
  'refused',
  'invalid',
] as const;
const gateResultSchema = z.enum(gateResults);

/** One protected cell of a requirement: the worst of all runs that count, with the numbers of that run. */
const gateCellSchema = z.strictObject({
  /** Index into `evidence` of the run whose numbers these are. */
  run: z.int(),
  id: z.string(),
  promptTokens: z.int(),
  chunk: z.int(),
  phase: z.string(),
  result: gateResultSchema,
  verdict: verdictNameSchema,
  detail: z.string().nullable(),
  /** Of the worst comparison; all null for refusals. Percents are of head over base, medians in tok/s. */
  arm: z.string().nullable(),
  against: z.string().nullable(),
  baseMedian: z.number().nullable(),
  headMedian: z.number().nullable(),
  deltaPercent: z.number().nullable(),
  lowerPercent: z.number().nullable(),
  upperPercent: z.number().nullable(),
  marginPercent: z.number(),
  rounds: z.int(),
  /** Index into `waivers` of the one that applies; null when none does. */
  waiver: z.int().nullable(),
  reasons: z.array(reasonSchema),
});

const nextStepSchema = z.strictObject({
  /** One line. */
  what: z.string(),
  /** What does it, to be pasted; null where no command does. Words in capitals are to be filled in. */
  command: z.string().nullable(),
});

const requirementResultSchema = z.strictObject({
  matrix: z.string(),
  /** Name of the class in the policy. */
  machine: z.string(),
  result: gateResultSchema,
  exitCode: z.int(),
  reasons: z.array(reasonSchema),
  /** Indexes into `evidence` of the runs that it rests on. */
  evidence: z.array(z.int()),
  /** Losing cell first. */
  cells: z.array(gateCellSchema),
  /** What to do about it; null where it holds, and in decisions of earlier versions. */
  next: nextStepSchema.nullable().default(null),
});

/** A run that was offered, whether it counts or not. All but `path` and `reasons` is null when it does not verify. */
const offeredRunSchema = z.strictObject({
  /** As it was found: a folder or an archive. */
  path: z.string(),
  /** SHA-256 of `evidence.sha256`; null when it does not verify. */
  digest: z.string().nullable(),
  kind: evidenceKindSchema.nullable(),
  session: z.string().nullable(),
  matrix: z.string().nullable(),
  head: z.string().nullable(),
  base: z.string().nullable(),
  machineId: z.string().nullable(),
  signer: z.string().nullable(),
  finishedAt: z.string().nullable(),
  result: verdictNameSchema.nullable(),
  /** Whether any requirement may rest on it. */
  counts: z.boolean(),
  /** Why not, or what to know: `stale-head`, `base-moved`, `too-old`, `wrong-role`, ... */
  reasons: z.array(reasonSchema),
});

const offeredWaiverSchema = z.strictObject({
  path: z.string(),
  matrix: z.string().nullable(),
  cell: z.string().nullable(),
  reason: z.string().nullable(),
  signer: z.string().nullable(),
  expiresAt: z.string().nullable(),
  /** Whether a cell rests on it now. */
  applies: z.boolean(),
  reasons: z.array(reasonSchema),
});

export const gateDecisionSchema = z.strictObject({
  schemaVersion: z.literal(1),
  decidedAt: z.iso.datetime(),
  harness: z.string(),
  policy: z.strictObject({
    path: z.string(),
    title: z.string().nullable(),
    /** Path of the trust policy in the same revision. */
    trust: z.string(),
    sha256: z.string(),
    /** Commit that policy and trust were read from; null when they were given as files (`--policy-from-disk`). */
    commit: z.string().nullable(),
  }),
  head: z.strictObject({ commit: z.string(), tree: z.string() }),
  base: z.strictObject({ branch: z.string(), commit: z.string() }),
  result: gateResultSchema,
  exitCode: z.int(),
  /** What every reader must know whatever the result: `waived`, `policy-from-disk`, `policy-expired`. */
  reasons: z.array(reasonSchema),
  requirements: z.array(requirementResultSchema),
  evidence: z.array(offeredRunSchema),
  waivers: z.array(offeredWaiverSchema),
});

export type GateResult = z.infer<typeof gateResultSchema>;
export type Reason = z.infer<typeof reasonSchema>;
/** Why something is so, by its code. */
export const reason = (code: string, message: string): Reason => ({ code, message });
export type NextStep = z.infer<typeof nextStepSchema>;
export type GateCell = z.infer<typeof gateCellSchema>;
export type RequirementResult = z.infer<typeof requirementResultSchema>;
export type OfferedRun = z.infer<typeof offeredRunSchema>;
export type OfferedWaiver = z.infer<typeof offeredWaiverSchema>;
export type GateDecision = z.infer<typeof gateDecisionSchema>;
