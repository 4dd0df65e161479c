/** A matrix as a file may have it, with the defaults of what it leaves out. */
import { z } from 'zod';
import { engineNameSchema } from './engines.js';
import { simulationSchema } from './simulation.js';

/** Names that become file names, table headings and JSON keys. */
export const nameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
  error: ({ input }) =>
    input === ''
      ? 'is empty; YAML reads null and ~ so, and no arm may be called null'
      : 'may have letters, digits, dot, dash, underscore',
});

export const switchNameSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]*$/, 'is no switch: use capitals, digits, underscore');

export const presetSchema = z.enum(['unit', 'mini', 'small', 'flash-8']);
export const phaseSchema = z.enum(['prefill', 'decode']);
export const paritySchema = z.enum(['exact', 'tokens', 'bounded']);
export const expertsSchema = z.enum([
  'rocmfp2',
  'rocmfp4',
  'rocmfp4_fast',
  'q2_k',
  'mxfp4',
  'q4_0',
  'q8_0',
  'f16',
  'f32',
]);

/** Types beside which activations are not rounded to int8. */
export const denseSchema = z.enum(['f16', 'f32']);

/** A generated model (the default), a GGUF file of the user's, or none at all. */
export const modelSchema = z.union([
  z.strictObject({
    preset: presetSchema,
    experts: expertsSchema.default('rocmfp2'),
    /** Type of attention, indexer, shared experts, embedding and output; `q8_0` when absent. */
    dense: denseSchema.optional(),
    seed: z.int().min(0).default(1),
    /** False: keys and indexer vectors are not rounded to FP8 and FP4, as llama.cpp never does. */
    roundTrips: z.boolean().default(true),
  }),
  z.strictObject({ path: z.string().min(1), vocabulary: z.int().min(2) }),
  /** The model of a simulated engine: nothing but ids below `vocabulary`. */
  z.strictObject({ simulated: z.literal(true), vocabulary: z.int().min(256).max(65_536).default(4096) }),
]);

/** A workload. Its id defaults to `<promptTokens>/<chunk>` for prefill and `<promptTokens>+<generatedTokens>` for decode. */
export const cellSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/+-]{0,63}$/, 'use letters, digits, dot, dash, underscore, slash, plus')
    .optional(),
  promptTokens: z.int().min(32).max(1_048_576),
  chunk: z.int().min(1).max(1_048_576),
  phase: phaseSchema.default('prefill'),
  /** Tokens to generate. At least 1: the first token ends the prefill. */
  generatedTokens: z.int().min(1).max(65_536).default(1),
  /** A cell that is not required is reported but does not decide. */
  required: z.boolean().default(true),
  /** Most rounds of this cell, one of the protocol's looks: a time budget for long cells. The protocol's cap when absent. */
  cap: z.int().min(1).max(96).optional(),
});

/** Name of the arm that the plan adds as `control: null`. */
export const NULL_ARM = 'null';

/**
 * One side of the comparison. `revision` is a git revision of the engine's repository, `worktree` (the tree as it
 * stands, named dirty when it is), or `prebuilt:<folder>`. Several arms may share a build. An engine that is a package has
 * one revision, which the plan names.
 */
export const armSchema = z.strictObject({
  engine: engineNameSchema.default('embedded'),
  revision: z.string().min(1).default('worktree'),
  /** Environment variables. Only these, and a fixed allow-list, reach the engine. */
  switches: z.record(switchNameSchema, z.string()).default({}),
  /** Further arguments of the engine's server. */
  arguments: z.array(z.string()).default([]),
  /** False runs this arm's launches without telemetry: to measure what telemetry costs. */
  telemetry: z.boolean().optional(),
  /**
   * An arm that checks the session. `lever-off`: head with its new switches off; it must be as fast as the reference, else a
   * gain is not the switches'. `null`: the reference once more, built elsewhere; the plan adds it, a matrix cannot.
   */
  control: z.enum(['null', 'lever-off']).optional(),
  /** Percent by which the engine's host stretches each prefill and decode step: a slowdown that must be found. */
  plantedSlowdownPercent: z.number().positive().max(50).optional(),
  /** Engine `simulated` only: by how much this arm is truly faster (or, below zero, slower) than the reference. */
  effectPercent: z.number().min(-50).max(50).optional(),
});

/** Limits of parity `bounded`: what rounding alone may do to outputs. */
const boundedSchema = z.strictObject({
  /** Least share of positions at which both arms give the same id. */
  top1: z.number().min(0).max(1),
  /** Least share of the ten likeliest ids of an arm that are among the ten likeliest of the other. */
  common: z.number().min(0).max(1),
  /** Most that the log-probabilities of an id may differ, as the mean over the ids in common. */
  meanLogProbability: z.number().positive(),
});

/**
 * What voids a launch, by what the machine did while it ran and never by its result. Shares are of 1; `verify` applies the
 * rules again.
 */
export const invalidationSchema = z.strictObject({
  /** Share of the machine's CPU time that others may use when wall time decides. */
  foreignCpuShare: z.number().min(0).max(1).default(0.25),
  /** Pages that anybody reads back from swap: beyond it the engine was probably among the swapped. */
  swapIns: z.int().min(0).default(1024),
  /** Pages that the engine had to wait for from a disk. */
  majorFaults: z.int().min(0).default(64),
  /** Thermal throttling events of the CPU. */
  throttles: z.int().min(0).default(0),
  /** Share by which the median clocks of two arms may differ. */
  clockShare: z.number().min(0).max(1).default(0.05),
  /** Share of the time in which somebody waited for memory. */
  memoryPressure: z.number().min(0).max(1).default(0.05),
  /** Other processes on a compute device that the engine uses. */
  foreignGpuProcesses: z.int().min(0).default(0),
});

/** Timers of Node hold 2^31 ms, which is 24 days; beyond it they fire at once. */
const MOST_SECONDS = 1_000_000;

export const protocolSchema = z.strictObject({
  warmups: z.int().min(0).max(100).default(2),
  samples: z.int().min(1).max(1000).default(5),
  /** Rounds after which undecided cells are looked at; the last is the cap. Even numbers: rounds come in AB/BA pairs. */
  looks: z.array(z.int().min(1).max(96)).min(1).default([6, 12, 18, 24]),
  /** The clock that decides. CPU time is for a CPU engine on a shared machine. Both are recorded. */
  clock: z.enum(['wall', 'cpu']).default('wall'),
  /** The interval that decides. Both are computed and stored. */
  interval: z.enum(['t', 'walsh']).default('t'),
  /** First rounds that also launch the null arm: the reference, built again elsewhere. 0 leaves it out. */
  nullRounds: z.int().min(0).max(96).default(2),
  invalidation: invalidationSchema.prefault({}),
  parity: paritySchema.default('exact'),
  /** With parity `bounded` only. */
  bounded: boundedSchema.optional(),
  /** Outputs shorter than this many tokens prove nothing at level `tokens`. Parity requests generate at least this many. */
  minimumOutputTokens: z.int().min(1).max(65_536).default(16),
  /** Seconds a launch may take to become ready, and a request to answer. */
  readyTimeoutSeconds: z.number().positive().max(MOST_SECONDS).default(300),
  requestTimeoutSeconds: z.number().positive().max(MOST_SECONDS).default(1800),
});

/** Margins in percent: how much slower head may be and still pass. */
export const budgetsSchema = z.strictObject({
  prefill: z.number().positive().max(50).default(2),
  decode: z.number().positive().max(50).default(2),
});

/** How every engine of the matrix runs. */
export const engineSchema = z.strictObject({
  threads: z.int().min(1).max(1024).optional(),
  /** CPUs to pin to, as `0-1` or `0,2`. */
  cpus: z
    .string()
    .regex(/^\d+(-\d+)?(,\d+(-\d+)?)*$/, 'write it as 0-1 or 0,2')
    .optional(),
});

/** How the arms of an ablation cover the levels of some switches. Made by `ablationMatrix`, and checked to be what it makes. */
export const designSchema = z.strictObject({
  kind: z.enum(['one-at-a-time', 'folded-plackett-burman']),
  factors: z
    .array(z.strictObject({ switch: switchNameSchema, low: z.string(), high: z.string() }))
    .min(1)
    .max(16),
  /** Which arm has which levels, `+` for high and `-` for low, in the order of the factors. The reference comes first. */
  rows: z
    .array(z.strictObject({ arm: nameSchema, levels: z.string().regex(/^[+-]+$/, 'use + and -') }))
    .min(2)
    .max(64),
});

export const matrixSchema = z.strictObject({
  schemaVersion: z.literal(1),
  name: nameSchema,
  title: z.string().min(1).max(200),
  model: modelSchema,
  engine: engineSchema.prefault({}),
  cells: z.array(cellSchema).min(1).max(1024),
  /** In order; the first is what the others are compared against. */
  arms: z.record(nameSchema, armSchema),
  protocol: protocolSchema.prefault({}),
  budgets: budgetsSchema.prefault({}),
  /** Makes the session an ablation: effects of switches are measured, and no budget is judged. */
  design: designSchema.optional(),
  /** Makes a simulation of the session: every arm is then of engine `simulated`. */
  simulation: simulationSchema.optional(),
});

export type Matrix = z.infer<typeof matrixSchema>;
export type MatrixInput = z.input<typeof matrixSchema>;
export type Cell = z.infer<typeof cellSchema>;
export type Arm = z.infer<typeof armSchema>;
export type Model = z.infer<typeof modelSchema>;
export type ParityLevel = z.infer<typeof paritySchema>;
export type Phase = z.infer<typeof phaseSchema>;
export type Design = z.infer<typeof designSchema>;
