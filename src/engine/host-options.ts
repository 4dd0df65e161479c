/** The command line of the engine's process. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { QualifyError } from '../errors.js';
import { parseCpuList } from '../matrix/cpu-list.js';
import { NO_FAULT, type PlantedFault, plantedFaultSchema } from '../plan/planted-faults.js';

/**
 * Flags of Node for the engine's process. Its JavaScript makes little garbage, and by default V8 would let the young part of
 * it grow by 8 MB before looking.
 */
export const ENGINE_NODE_FLAGS = ['--max-semi-space-size=1'];

export const DEFAULT_CONTEXT_TOKENS = 8192;
export const DEFAULT_CACHE_SLOTS = 4;
export const DEFAULT_CHUNK = 512;
export const isaSchema = z.enum(['avx512', 'avx2', 'portable']);

const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum).max(maximum));

const percent = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,2}(\.\d{1,6})?$/, 'must be a number of percent, such as 3 or 2.5')
    .transform(Number)
    .pipe(z.number().min(minimum).max(maximum));

const optionsSchema = z.object({
  addon: z.string().min(1),
  model: z.string().min(1),
  host: z.enum(['127.0.0.1', '::1', 'localhost'], 'only loopback addresses are served').default('127.0.0.1'),
  port: wholeNumber(0, 65_535).default(0),
  nonce: z.string().max(200).default(''),
  'build-digest': z.string().max(200).default(''),
  threads: wholeNumber(1, 1024).default(availableParallelism()),
  cpus: z.string().transform(parseCpuList).nullable().default(null),
  context: wholeNumber(1, 1_048_576).default(DEFAULT_CONTEXT_TOKENS),
  'cache-slots': wholeNumber(0, 1024).default(DEFAULT_CACHE_SLOTS),
  isa: isaSchema.nullable().default(null),
  'check-values': z.enum(['yes', 'no']).default('no'),
  'plant-fault': z.enum([NO_FAULT, ...plantedFaultSchema.options]).default(NO_FAULT),
  'plant-slowdown': percent(0, 50).default(0),
});

export interface HostOptions {
  addonPath: string;
  modelPath: string;
  host: string;
  /** 0 takes a free one. */
  port: number;
  nonce: string;
  buildDigest: string;
  threads: number;
  cpus: number[] | null;
  contextTokens: number;
  cacheSlots: number;
  isa: z.infer<typeof isaSchema> | null;
  /** Looks for values that are NaN or infinite before the model is opened: `qualify engine serve` does, a session does not. */
  checkValues: boolean;
  /** For `qualify oracle` alone: a run refuses an engine that says it has one. */
  plantedFault: PlantedFault | typeof NO_FAULT;
  /** By how many percent every prefill and decode is made to take longer; 0 for not at all. */
  plantedSlowdownPercent: number;
}

/** Reads `--name value` pairs. @throws ERR_QUALIFY_USAGE naming the option. */
export function parseHostOptions(argv: string[]): HostOptions {
  const names = Object.keys(optionsSchema.shape);
  const flags = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    const { values } = parseArgs({ args: argv, options: flags, strict: true });
    const read = optionsSchema.parse(values);
    return {
      addonPath: read.addon,
      modelPath: read.model,
      host: read.host,
      port: read.port,
      nonce: read.nonce,
      buildDigest: read['build-digest'],
      threads: read.cpus?.length ?? read.threads,
      cpus: read.cpus,
      contextTokens: read.context,
      cacheSlots: read['cache-slots'],
      isa: read.isa,
      checkValues: read['check-values'] === 'yes',
      plantedFault: read['plant-fault'],
      plantedSlowdownPercent: read['plant-slowdown'],
    };
  } catch (error) {
    if (error instanceof QualifyError) throw error;
    const message =
      error instanceof z.ZodError
        ? error.issues.map((issue) => `--${issue.path.join('.')}: ${issue.message}`).join('; ')
        : (error as Error).message;
    throw new QualifyError('ERR_QUALIFY_USAGE', message, { exit: 'usage', cause: error });
  }
}
