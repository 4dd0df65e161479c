/**
 * The gate's policy (`qualify.policy.yaml`): what must have been qualified before a change is merged. Read from the base revision.
 */
import { z } from 'zod';
import { TRUST_FILE } from '../manifest/trust-policy.js';
import { nameSchema } from '../matrix/schema.js';
import { sha256Schema } from '../plan/schema.js';

/** A path below the root of the repository: no control characters, which no system call or output takes well. */
const pathSchema = z.string().regex(/^\P{Cc}+$/u);

/** A class of machines; a machine belongs to it when everything that is said here holds. */
export const machineClassSchema = z.strictObject({
  /** Ids of machines, which an honest signer cannot get wrong; his key must be bound to machines by the trust policy. */
  ids: z.array(sha256Schema).min(1).optional(),
  /** Case-insensitive part of the CPU's model name. */
  cpu: z.string().min(1).optional(),
  /** Case-insensitive part of the name of one of the GPUs. */
  gpu: z.string().min(1).optional(),
  memoryAtLeastGib: z.number().positive().optional(),
  logicalCpusAtLeast: z.int().min(1).optional(),
});

export const requirementSchema = z.strictObject({
  /** Name of the matrix. */
  matrix: nameSchema,
  /**
   * Path of the matrix file in the same revision. A run must be of that matrix, as it is or put onto revisions (`qualify pr --matrix FILE`).
   * Absent for a built-in matrix of that name.
   */
  file: pathSchema.optional(),
  /** Name of a class below `machines`. */
  machine: nameSchema,
  /** The least grade: rounds that every protected cell must have. */
  rounds: z.int().min(6).default(6),
  /** Protected cells by id, which must be there and pass whatever the matrix calls them; absent for all that the matrix requires. */
  cells: z.array(z.string()).min(1).optional(),
  /** How many machines of the class must say so, each with a run of its own by a key of its own. */
  machinesAtLeast: z.int().min(1).default(1),
});

/** The longest that a waiver may be in force by any policy, in days. */
export const MOST_WAIVER_DAYS = 366;

export const gatePolicySchema = z.strictObject({
  schemaVersion: z.literal(1),
  title: z.string().max(200).optional(),
  /** Path of the trust policy in the same revision. */
  trust: pathSchema.default(TRUST_FILE),
  /** The branch that changes are merged into. */
  base: z.string().default('main'),
  /** By how many commits the base of a run may be behind that branch. */
  baseDrift: z.int().min(0).default(0),
  maxAgeDays: z.number().positive().default(14),
  /** For how long a waiver may be in force, from its issue to its end. */
  maxWaiverDays: z.int().min(1).max(MOST_WAIVER_DAYS).default(MOST_WAIVER_DAYS),
  /** `required`: a run must answer a challenge that was issued for this head, base, matrix and policy. */
  challenge: z.enum(['optional', 'required']).default('optional'),
  /**
   * Which results a later run on the same machine may replace. `refused`: where nothing was shown, so that nothing can be picked.
   * `inconclusive`: also, by a run that plans as many rounds or more. A failed cell and a parity failure stay until the head changes.
   */
  supersede: z.array(z.enum(['refused', 'inconclusive'])).default(['refused']),
  machines: z.record(nameSchema, machineClassSchema),
  require: z.array(requirementSchema).min(1),
});

export type GatePolicy = z.infer<typeof gatePolicySchema>;
export type Requirement = z.infer<typeof requirementSchema>;
export type MachineClass = z.infer<typeof machineClassSchema>;

/** The file's name in a repository, unless `--policy` names another. */
export const POLICY_FILE = 'qualify.policy.yaml';
