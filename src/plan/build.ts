/** Makes the plan of a session: everything that decides, fixed before the first launch. */
import { canonicalDigest } from '../digest.js';
import { QualifyError } from '../errors.js';
import { cellId } from '../matrix/cell-id.js';
import { matrixDigest } from '../matrix/digest.js';
import { defaultRevision } from '../matrix/engines.js';
import { lookBreaches } from '../matrix/rules.js';
import type { Cell, Matrix } from '../matrix/schema.js';
import type { Challenge } from './challenge.js';
import { nullArmOf, nullRoundsOf, withNullArm } from './null-arm.js';
import { buildOrder } from './order.js';
import { vocabularyOf } from './preset.js';
import { buildPrompts } from './prompts.js';
import { type Plan, planSchema } from './schema.js';

interface PlanOptions {
  /** Name of the session: `[a-z0-9-]`, 8 to 64 characters. */
  session: string;
  /** 64 hex digits. */
  seed: string;
  /** Runs exactly this many rounds and looks once, at the end. */
  rounds?: number;
  /** Ids of cells of the matrix that are left out on demand: such a run qualifies nothing. */
  leftOut?: readonly string[];
  /** What the run answers; `seed` must be its `challengeSeed`. */
  challenge?: Challenge;
  /** Share of rounds that may be void and measured again; null makes a plan as older versions did. Default `VOID_SHARE`. */
  voidShare?: number | null;
}

/** Share of the rounds of a look that new plans let be void and measured again. */
const VOID_SHARE = 0.1;

/**
 * One-sided level of each look. Four looks at .0194 (Pocock) keep the chance of any false call at .05; fewer looks keep
 * .0194, which is stricter than needed and comparable between sessions; more share .05 (Bonferroni).
 */
export const levelPerLook = (looks: number): number => (looks <= 4 ? 0.0194 : 0.05 / looks);

/** A number of rounds that the user asks for replaces the looks, and with them the caps. */
function withoutCap(cell: Cell, rounds: number | undefined): Cell {
  const { cap: _replaced, ...rest } = cell;
  return rounds === undefined ? cell : rest;
}

/**
 * The plan of a matrix. Pure: the same arguments give the same plan, to the byte.
 * @throws QualifyError `ERR_QUALIFY_ROUNDS` (exit 64) for a number of rounds that cannot be balanced.
 */
export function buildPlan(matrix: Matrix, options: PlanOptions): Plan {
  const { voidShare = VOID_SHARE } = options;
  const looks = options.rounds === undefined ? matrix.protocol.looks : [options.rounds];
  const [unbalanced] = lookBreaches(looks);
  if (unbalanced !== undefined)
    throw new QualifyError('ERR_QUALIFY_ROUNDS', unbalanced.message, { exit: 'usage' });
  const cells = matrix.cells.map((cell) => ({
    ...withoutCap(cell, options.rounds),
    id: cellId(cell),
    marginPercent: matrix.budgets[cell.phase],
  }));
  const arms = Object.entries(matrix.arms).map(([name, arm]) => ({
    name,
    ...arm,
    revision: arm.revision === 'worktree' ? defaultRevision[arm.engine] : arm.revision,
  }));
  const vocabulary = vocabularyOf(matrix.model);
  const order = buildOrder(
    arms.map((arm) => arm.name),
    looks.at(-1) ?? 1,
    options.seed,
  );
  const [reference] = arms;
  const nullRounds = nullRoundsOf(matrix.protocol.nullRounds, order.length);
  const hasNull = reference !== undefined && nullRounds > 0;
  return planSchema.parse({
    schemaVersion: 1,
    session: options.session,
    seed: options.seed,
    ...(options.challenge && { challenge: options.challenge }),
    matrix: { name: matrix.name, title: matrix.title, digest: matrixDigest(matrix) },
    model: matrix.model,
    vocabulary,
    engine: matrix.engine,
    cells,
    ...(options.leftOut?.length && { leftOut: options.leftOut }),
    arms: hasNull ? [...arms, nullArmOf(reference)] : arms,
    protocol: { ...matrix.protocol, looks, nullRounds },
    budgets: matrix.budgets,
    ...(matrix.simulation && { simulation: matrix.simulation }),
    rounds: hasNull ? withNullArm(order, nullRounds) : order,
    prompts: buildPrompts({ seed: options.seed, vocabulary }, cells, matrix.protocol),
    decision: {
      rule: 'zone-v1',
      looks,
      levelPerLook: levelPerLook(looks.length),
      interval: matrix.protocol.interval,
      ...(voidShare !== null && { voidShare }),
    },
    ...(matrix.design !== undefined && { design: matrix.design }),
  });
}

/** What makes a plan again say of void rounds what it says. */
export const voidShareOf = ({ decision }: Pick<Plan, 'decision'>): number | null =>
  decision.voidShare ?? null;

/** As `voidShareOf`, and no more than plans of this version have: a larger share is the choice of somebody who measures. */
export function fairVoidShareOf(plan: Pick<Plan, 'decision'>): number | null {
  const share = voidShareOf(plan);
  return share === null ? null : Math.min(share, VOID_SHARE);
}

/** Digest of a plan (RFC 8785): the first line of its journal. */
export const planDigest = (plan: Plan): string => canonicalDigest(plan);
