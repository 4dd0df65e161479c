/**
 * The statement of a run, as in-toto Statement v1 with a predicate of ours: what was compared, on what, what was seen,
 * what follows. A pure function of plan, journal, verdict and evidence index, so that `verify` builds it again and
 * compares bytes. Unknown fields would be refused by strict verifiers outside the predicate, so everything of ours is in it.
 */
import { z } from 'zod';
import { canonicalJson } from '../digest.js';
import { type Entry, type EntryOf, revisionSchema } from '../journal/entries.js';
import type { Fingerprint } from '../machine/fingerprint.js';
import {
  armSchema,
  budgetsSchema,
  engineSchema,
  modelSchema,
  nameSchema,
  phaseSchema,
  protocolSchema,
} from '../matrix/schema.js';
import { type Plan, planSchema, sha256Schema } from '../plan/schema.js';
import {
  armSummarySchema,
  cellVerdictSchema,
  comparisonSchema,
  effectSchema,
  type Verdict,
  verdictNameSchema,
} from '../verdict/schema.js';
import { INDEX_FILE } from './evidence-index.js';

export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
/** An identifier, compared as a string; nothing is fetched from it. */
export const PREDICATE_TYPE = 'https://github.com/qualify-dev/qualify/attestation/qualification/v1';

/** Counts and sizes may pass 2^53, and other verifiers read JSON numbers as doubles: such numbers are decimal strings. */
const decimalSchema = z.string().regex(/^(0|[1-9]\d{0,19})$/);
const keyIdSchema = z.string().regex(/^SHA256:[A-Za-z0-9+/]{43}$/);
const digestSchema = z.strictObject({ sha256: sha256Schema });

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
  decision: planSchema.shape.decision,
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
type Subject = z.infer<typeof subjectSchema>;

/** Everything a statement is made of. */
export interface StatementInput {
  plan: Plan;
  planDigest: string;
  entries: readonly Entry[];
  verdict: Verdict;
  machine: Fingerprint;
  /** Digest of `evidence.sha256`, and what the files it lists add up to. */
  evidence: { sha256: string; files: number; bytes: number };
  signer: string;
}

/** The statement of a run. */
export function buildStatement(input: StatementInput): Statement {
  const { plan, entries, verdict } = input;
  const builds = entries.filter((entry) => entry.kind === 'build');
  const session = entries.find((entry) => entry.kind === 'session');
  const end = entries.find((entry) => entry.kind === 'end');
  if (!session) throw new Error('A journal without its first line came to the statement.');
  return {
    _type: STATEMENT_TYPE,
    subject: [
      { name: INDEX_FILE, digest: { sha256: input.evidence.sha256 } },
      ...headSubjects(
        plan.arms.map((arm) => arm.name),
        builds,
      ),
    ],
    predicateType: PREDICATE_TYPE,
    predicate: {
      schemaVersion: 1,
      session: plan.session,
      signer: input.signer,
      startedAt: session.startedAt,
      finishedAt: end?.finishedAt ?? null,
      complete: end?.complete ?? false,
      harness: session.harness,
      matrix: { ...plan.matrix, digest: { sha256: plan.matrix.digest } },
      plan: { digest: { sha256: input.planDigest }, seed: plan.seed },
      machine: describeMachine(session, input.machine),
      model: describeModel(
        plan,
        entries.find((entry) => entry.kind === 'model'),
      ),
      arms: plan.arms.map((arm) => ({ ...arm, build: describeBuild(buildOf(builds, arm.name)) })),
      engine: plan.engine,
      protocol: plan.protocol,
      budgets: plan.budgets,
      decision: plan.decision,
      result: verdict.result,
      exitCode: verdict.exitCode,
      cells: verdict.cells.map(describeCell),
      evidence: { index: INDEX_FILE, files: input.evidence.files, bytes: String(input.evidence.bytes) },
    },
  };
}

/** The bytes that are signed: RFC 8785, so that one statement has one spelling. */
export function serializeStatement(statement: Statement): Buffer {
  return Buffer.from(canonicalJson(statement), 'utf8');
}

/**
 * Commits and binaries of every arm but the reference. What the reference also is, is no subject: subjects are found by
 * digest, and "is the base qualified?" must not be answered by a comparison against it. Dirty trees have no commit.
 */
function headSubjects(arms: readonly string[], builds: readonly EntryOf<'build'>[]): Subject[] {
  const [reference, ...heads] = arms;
  const base = reference === undefined ? undefined : buildOf(builds, reference);
  const commits: Subject[] = [];
  const binaries: Subject[] = [];
  const seen = new Set([base?.revision.commit, base?.binarySha256]);
  for (const arm of heads) {
    const build = buildOf(builds, arm);
    if (!build) continue;
    const { commit } = build.revision;
    if (commit !== null && !seen.has(commit))
      commits.push({ name: `${arm}@${commit}`, digest: { gitCommit: commit } });
    if (!seen.has(build.binarySha256)) {
      binaries.push({ name: `${arm}/engine`, digest: { sha256: build.binarySha256 } });
    }
    seen.add(commit).add(build.binarySha256);
  }
  return [...commits, ...binaries];
}

const buildOf = (builds: readonly EntryOf<'build'>[], arm: string) =>
  builds.find((build) => build.arms.includes(arm));

function describeBuild(build: EntryOf<'build'> | undefined): z.infer<typeof buildSchema> | null {
  if (!build) return null;
  const { revision, buildDigest, recipeDigest, toolchain, binarySha256 } = build;
  return { revision, buildDigest, recipeDigest, toolchain, binarySha256 };
}

function describeMachine(
  session: EntryOf<'session'>,
  machine: Fingerprint,
): Statement['predicate']['machine'] {
  return {
    id: session.machineId,
    cpu: machine.cpu.model,
    logicalCpus: machine.cpu.logical,
    kernel: machine.system.kernel,
    memoryBytes: machine.memory.totalBytes,
    gpus: machine.gpus.map((gpu) => gpu.name ?? `${gpu.vendor}:${gpu.device}`),
    description: { path: session.machine.path, digest: { sha256: session.machine.sha256 } },
  };
}

function describeModel(plan: Plan, model: EntryOf<'model'> | undefined): Statement['predicate']['model'] {
  return model
    ? { requested: plan.model, digest: { sha256: model.sha256 }, sizeBytes: model.sizeBytes }
    : null;
}

function describeCell(cell: Verdict['cells'][number]): z.infer<typeof cellSchema> {
  const { id, promptTokens, chunk, phase, generatedTokens, required, verdict } = cell;
  return {
    ...{ id, promptTokens, chunk, phase, generatedTokens, required, verdict },
    coldness: cell.coldness.status,
    arms: Object.fromEntries(
      Object.entries(cell.arms).map(([name, { n, median, mad, unit }]) => [name, { n, median, mad, unit }]),
    ),
    comparisons: cell.comparisons.map(({ arm, against, verdict: decided, detail, parity, effect }) => ({
      ...{ arm, against, verdict: decided, detail, parity },
      effect: effect && {
        deltaPercent: effect.deltaPercent,
        ratio: effect.ratio,
        lower: effect.lower,
        upper: effect.upper,
        level: effect.level,
        rounds: effect.rounds,
      },
    })),
  };
}
