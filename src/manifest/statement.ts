/**
 * The statement of a run, as in-toto Statement v1 with a predicate of ours: what was compared, on what, what was seen,
 * what follows. Its schema and its bytes; `build-statement.ts` fills it in. Unknown fields outside the predicate would be
 * refused by strict verifiers, so everything of ours is in it.
 */
import { z } from 'zod';
import { canonicalJson } from '../digest.js';
import { revisionSchema } from '../journal/entries.js';
import {
  armSchema,
  budgetsSchema,
  designSchema,
  engineSchema,
  modelSchema,
  nameSchema,
  phaseSchema,
  protocolSchema,
} from '../matrix/schema.js';
import { simulationSchema } from '../matrix/simulation.js';
import { challengeSchema } from '../plan/challenge.js';
import { planSchema, sha256Schema } from '../plan/schema.js';
import {
  armSummarySchema,
  cellVerdictSchema,
  comparisonSchema,
  effectSchema,
  verdictNameSchema,
} from '../verdict/schema.js';
import { INDEX_FILE } from './evidence-index.js';

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** An identifier, compared as a string; nothing is fetched from it. */
export const PREDICATE_TYPE = 'https://github.com/qualify-dev/qualify/attestation/qualification/v1';

/** Counts and sizes may pass 2^53, and other verifiers read JSON numbers as doubles: such numbers are decimal strings. */
const decimalSchema = z.string().regex(/^(0|[1-9]\d{0,19})$/);
const keyIdSchema = z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/);
export const digestSchema = z.strictObject({ sha256: sha256Schema });

const subjectSchema = z.strictObject({
  name: z.string(),
  digest: z.union([digestSchema, z.strictObject({ gitCommit: z.string().regex(/^[0-9a-f]{40}$/) })]),
});

/** The build of an arm; null in the predicate when no build came to be. */
const buildSchema = z.strictObject({
  revision: revisionSchema,
  buildDigest: sha256Schema,
  recipeDigest: sha256Schema,
  toolchain: z.record(z.string(), z.string()),
  binarySha256: sha256Schema,
  /** Over every file of a folder that somebody else built; absent where the binary is all there is. */
  folderSha256: sha256Schema.optional(),
});

/** What the manifest keeps of a cell: its numbers without the samples, which the journal has. */
const cellSchema = z.strictObject({
  id: z.string(),
  promptTokens: z.int(),
  chunk: z.int(),
  phase: phaseSchema,
  generatedTokens: z.int(),
  required: z.boolean(),
  verdict: verdictNameSchema,
  coldness: cellVerdictSchema.shape.coldness.shape.status,
  arms: z.record(nameSchema, armSummarySchema.pick({ n: true, median: true, mad: true, unit: true })),
  comparisons: z.array(
    comparisonSchema.pick({ arm: true, against: true, verdict: true, detail: true, parity: true }).extend({
      effect: effectSchema
        .pick({ deltaPercent: true, ratio: true, lower: true, upper: true, level: true, rounds: true })
        .nullable(),
    }),
  ),
});

const predicateSchema = z.strictObject({
  schemaVersion: z.literal(1),
  session: z.string(),
  /** Name of the key that signs; a copy of the statement under another key is not the same statement. */
  signer: keyIdSchema,
  startedAt: z.iso.datetime(),
  /** Null when the session was cut short. */
  finishedAt: z.iso.datetime().nullable(),
  complete: z.boolean(),
  harness: z.strictObject({ version: z.string(), node: z.string() }),
  matrix: z.strictObject({ name: z.string(), title: z.string(), digest: digestSchema }),
  plan: z.strictObject({ digest: digestSchema, seed: sha256Schema }),
  /** What the run answers; absent when it chose its own seed. */
  challenge: challengeSchema.optional(),
  machine: z.strictObject({
    /** The same for every session on the machine. */
    id: sha256Schema,
    cpu: z.string(),
    logicalCpus: z.int(),
    kernel: z.string(),
    memoryBytes: decimalSchema,
    gpus: z.array(z.string()),
    /** The whole description, in the evidence. */
    description: z.strictObject({ path: z.string(), digest: digestSchema }),
  }),
  model: z
    .strictObject({ requested: modelSchema, digest: digestSchema, sizeBytes: decimalSchema })
    .nullable(),
  /** In the order of the matrix; the first is what the others are compared against. */
  arms: z.array(armSchema.extend({ name: nameSchema, build: buildSchema.nullable() })).min(1),
  engine: engineSchema,
  protocol: protocolSchema,
  budgets: budgetsSchema,
  /** There when nothing was measured: the noise that the rates were made from. */
  simulation: simulationSchema.optional(),
  decision: planSchema.shape.decision,
  /** Of an ablation, whose result says nothing about budgets. */
  design: designSchema.optional(),
  result: verdictNameSchema,
  exitCode: z.int(),
  cells: z.array(cellSchema).max(1024),
  evidence: z.strictObject({ index: z.literal(INDEX_FILE), files: z.int(), bytes: decimalSchema }),
});

export const statementSchema = z.strictObject({
  _type: z.literal(STATEMENT_TYPE),
  subject: z.array(subjectSchema).min(1).max(1024),
  predicateType: z.literal(PREDICATE_TYPE),
  predicate: predicateSchema,
});

export type Statement = z.infer<typeof statementSchema>;

/** The bytes that are signed: RFC 8785, so that one statement has one spelling. */
export function serializeStatement(statement: Statement): Buffer {
  return Buffer.from(canonicalJson(statement), 'utf8');
}

interface WithSubject {
  readonly subject: readonly { readonly name: string; readonly digest: object }[];
}

/** SHA-256 of the index of a run, which is the evidence, where a statement names it. */
function findEvidence({ subject }: WithSubject): string | null {
  const digest = subject.find(({ name }) => name === INDEX_FILE)?.digest;
  return digest && 'sha256' in digest && typeof digest.sha256 === 'string' ? digest.sha256 : null;
}

/** The same of a statement that was verified, which names it. */
export function evidenceDigest(statement: WithSubject): string {
  const found = findEvidence(statement);
  if (found === null) throw new Error('A statement without its evidence was verified.');
  return found;
}
