/** The lines of a journal: everything that was observed, in order. */
import { z } from 'zod';
import { nameSchema } from '../matrix/schema.js';
import { sha256Schema } from '../plan/schema.js';

/** Nanoseconds of the harness's monotonic clock since the session began, as a decimal string (beyond 2^53 by rule). */
const nanosecondsSchema = z.string().regex(/^\d{1,20}$/);
const ms = z.number().min(0);
const count = z.int().min(0);

/** A file of the evidence folder, by path relative to the run folder. */
const evidenceSchema = z.strictObject({ path: z.string(), sha256: sha256Schema });

/** A commit, or a tree that is not one. A dirty tree has `commit: null` and is never called a commit. */
export const revisionSchema = z.strictObject({
  requested: z.string(),
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .nullable(),
  tree: z.string(),
  dirty: z.boolean(),
});

/** What the engine says it is: the witnesses of `/props`. */
const witnessSchema = z.strictObject({
  nonce: z.string(),
  buildDigest: z.string(),
  modelSha256: sha256Schema,
  threads: count,
  isa: z.string(),
  /** Digest of the vocabulary and merges; absent when the engine does not say. */
  tokenizerSha256: sha256Schema.optional(),
  /** Effective value of every switch the engine knows, including those at their default. */
  switches: z.record(z.string(), z.string()),
  /** The fault that was planted into the engine, or `none`; absent when the engine does not say. */
  plantedFault: z.string().optional(),
  /** By how many percent the engine was told to be slower than it is; absent when it does not say. */
  plantedSlowdownPercent: z.number().min(0).optional(),
});

/** Milliseconds by stage of the model, summed over layers. */
export const stagesSchema = z.record(z.string(), ms);

/** One request and what came back. Rates are computed later, from `promptN` and the plan's clock, never stored. */
export const answerSchema = z.strictObject({
  cacheN: count.nullable(),
  promptN: count.nullable(),
  promptMs: ms.nullable(),
  promptCpuMs: ms.nullable(),
  predictedN: count,
  predictedMs: ms.nullable(),
  predictedCpuMs: ms.nullable(),
  /** The client's clock, around the whole exchange. */
  clientMs: ms,
  tokens: z.array(count),
  /** Over the generated ids as unsigned 32-bit little-endian. */
  tokensSha256: sha256Schema,
  /** Over the raw F32 logits of the last prompt position followed by those of each decode step; null when not given. */
  logitsSha256: sha256Schema.nullable(),
  stages: stagesSchema,
  /** Tokens that the engine evaluated at once in this prefill; absent when it does not say. */
  chunk: count.optional(),
  /** NaN and infinite values among the logits behind `logitsSha256`; absent when the engine does not say. */
  nonFiniteLogits: count.optional(),
  /** For each generated position the likeliest ids with their log-probabilities, best first; absent when not asked for. */
  probabilities: z.array(z.array(z.tuple([count, z.number()]))).optional(),
  request: evidenceSchema,
  response: evidenceSchema,
});

const base = { seq: count, atNs: nanosecondsSchema };
const inLaunch = { ...base, launch: z.string() };

export const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...base,
    kind: z.literal('session'),
    planDigest: sha256Schema,
    session: z.string(),
    startedAt: z.iso.datetime(),
    harness: z.strictObject({ version: z.string(), node: z.string() }),
    machine: evidenceSchema,
    machineId: sha256Schema,
  }),
  z.strictObject({
    ...base,
    kind: z.literal('model'),
    sha256: sha256Schema,
    sizeBytes: z.string().regex(/^\d+$/),
  }),
  z.strictObject({
    ...base,
    kind: z.literal('build'),
    arms: z.array(nameSchema),
    revision: revisionSchema,
    /** Digest of (source tree, recipe, toolchain): names the build. */
    buildDigest: sha256Schema,
    recipeDigest: sha256Schema,
    toolchain: z.record(z.string(), z.string()),
    binarySha256: sha256Schema,
    /** Over every file of a folder that somebody else built; absent where the binary is all there is. */
    folderSha256: sha256Schema.optional(),
    cached: z.boolean(),
    /** Made once more from the same sources in another place, for the null arm; absent for an ordinary build. */
    elsewhere: z.literal(true).optional(),
    log: evidenceSchema,
  }),
  z.strictObject({
    ...inLaunch,
    kind: z.literal('launch'),
    arm: nameSchema,
    round: count,
    /** 0 for the first launch of the round. */
    position: count,
    pid: count,
    port: count,
    nonce: z.string(),
    argv: z.array(z.string()),
    environment: z.record(z.string(), z.string()),
  }),
  z.strictObject({
    ...inLaunch,
    kind: z.literal('ready'),
    readyMs: ms,
    witness: witnessSchema,
    props: evidenceSchema,
  }),
  z.strictObject({
    ...inLaunch,
    kind: z.literal('sample'),
    cell: z.string(),
    purpose: z.enum(['warmup', 'sample', 'parity']),
    index: count,
    prompt: z.string(),
    promptSha256: sha256Schema,
    answer: answerSchema,
  }),
  /** The positive control of coldness: one prompt twice with the cache on. The second must reuse. */
  z.strictObject({
    ...inLaunch,
    kind: z.literal('control'),
    prompt: z.string(),
    promptSha256: sha256Schema,
    first: answerSchema,
    second: answerSchema,
  }),
  /** Counters of the kernels that really ran, at the end of the launch; `props` is the `/props` that told them. */
  z.strictObject({
    ...inLaunch,
    kind: z.literal('counters'),
    counters: z.record(z.string(), count),
    props: evidenceSchema,
  }),
  z.strictObject({
    ...inLaunch,
    kind: z.literal('stop'),
    how: z.enum(['asked', 'killed', 'died']),
    exitCode: z.int().nullable(),
    signal: z.string().nullable(),
    /** Names of processes that outlived the server and had to be killed; absent for none. */
    left: z.array(z.string()).min(1).optional(),
    log: evidenceSchema,
  }),
  /** Everything that should be equal for all launches, by field; null is "unset" or "unknown", and is not the empty text. */
  z.strictObject({
    ...inLaunch,
    kind: z.literal('conditions'),
    fields: z.record(z.string(), z.string().nullable()),
  }),
  /** What else the machine did while a launch ran. */
  z.strictObject({
    ...inLaunch,
    kind: z.literal('load'),
    foreignCpuShare: z.number().min(0),
    majorFaults: count,
    swapIns: count,
  }),
  /** What a process of its own saw of the machine in the course of a launch: a summary of `log`, which `verify` draws again. */
  z.strictObject({
    ...inLaunch,
    kind: z.literal('telemetry'),
    samples: count,
    /** Share of the machine's CPU time that the telemetry itself used. */
    costShare: z.number().min(0),
    /** Over the readings, the fastest CPU's. */
    clockMhz: z.strictObject({ low: ms, median: ms, high: ms }).nullable(),
    highestC: z.number().nullable(),
    /** During the launch. */
    throttles: count.nullable(),
    highestLoad: ms,
    /** The five of the others that used most of the machine's CPU time, by name, most first. */
    others: z.array(z.strictObject({ name: z.string(), cpuShare: z.number().min(0) })),
    /** Share of the time in which somebody waited for the resource. */
    pressure: z.strictObject({ cpu: ms, memory: ms, io: ms }).nullable(),
    gpus: z.array(z.strictObject({ medianMhz: ms.nullable(), highestC: z.number().nullable() })),
    /** Other processes on a compute device that the engine used too; null when it used none. */
    gpuUsers: z.array(z.string()).nullable(),
    log: evidenceSchema,
  }),
  /**
   * After the last launch of a round that telemetry voids: what was seen of its launches stays and counts for nothing, and the round is
   * measured again, all of it in the same order. Derived by the rule, which sees no rate; `verify` derives it again.
   */
  z.strictObject({
    ...base,
    kind: z.literal('void'),
    round: count,
    /** Codes of what voided it, each once, in order. */
    codes: z.array(z.string()).min(1),
  }),
  /** After a look: the cells that go on. Derived by the rule; `verify` derives it again. */
  z.strictObject({ ...base, kind: z.literal('look'), rounds: count, undecided: z.array(z.string()) }),
  z.strictObject({
    ...base,
    kind: z.literal('failure'),
    launch: z.string().nullable(),
    code: z.string(),
    message: z.string(),
  }),
  /**
   * The session went on after it was killed, or after an `end` that says `complete: false`. What was seen of the launch that was
   * under way stays and counts for nothing; the launch is repeated whole.
   */
  z.strictObject({
    ...base,
    kind: z.literal('resume'),
    resumedAt: z.iso.datetime(),
    harness: z.strictObject({ version: z.string(), node: z.string() }),
    machineId: sha256Schema,
    /** Name of that launch, which has no `launch` entry when it was not ready yet; null when none was under way. */
    lost: z.string().nullable(),
    /** Bytes of a last line that was cut off, which is taken away, and their digest. */
    droppedBytes: count,
    droppedSha256: sha256Schema.nullable(),
  }),
  z.strictObject({ ...base, kind: z.literal('end'), finishedAt: z.iso.datetime(), complete: z.boolean() }),
]);

/** `entrySchema.safeParse` for who reads many entries: by a parser that zod compiles for each kind when the first of it comes. */
export function safeParseEntry(value: unknown): ReturnType<typeof entrySchema.safeParse> {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  const parser = parsers.get(kind) ?? compileKind(kind);
  const parsed = parser?.safeParse(value);
  // What is wrong is told by the whole schema, as it tells it everywhere.
  return parsed?.success ? parsed : entrySchema.safeParse(value);
}

type KindSchema = (typeof entrySchema.options)[number];

const parsers = new Map<unknown, KindSchema>();

function compileKind(kind: unknown): KindSchema | undefined {
  const schema = entrySchema.options.find((option) => option.shape.kind.value === kind);
  if (schema === undefined) return undefined;
  const parser: KindSchema = z.compile(schema);
  parsers.set(kind, parser);
  return parser;
}

export type Entry = z.infer<typeof entrySchema>;
export type EntryOf<K extends Entry['kind']> = Extract<Entry, { kind: K }>;
export type Answer = z.infer<typeof answerSchema>;
export type Witness = z.infer<typeof witnessSchema>;
export type Revision = z.infer<typeof revisionSchema>;
export type Telemetry = Omit<EntryOf<'telemetry'>, 'seq' | 'atNs' | 'kind' | 'launch' | 'log'>;
export type Evidence = z.infer<typeof evidenceSchema>;
