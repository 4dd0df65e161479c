/** What an ablation found: effects of switches as claims by Holm, of pairs as a ranking, and the joint effect as measured. */
import { type Contrast, type DesignEffects, designEffects, type Noise } from '../analysis/design-effects.js';
import { type Finding, finding } from '../analysis/finding.js';
import { tQuantile, tUpperTail } from '../analysis/student-t.js';
import type { SwitchWitness } from '../analysis/switch-witness.js';
import type { Design } from '../matrix/schema.js';
import type { Plan } from '../plan/schema.js';
import type { Ablation, AblationCell } from './ablation-schema.js';
import { benjaminiHochberg, type HolmStep, holmSteps } from './holm.js';
import type { CellVerdict } from './schema.js';

/** Chance of any false claim about a switch, two-sided, over all switches and cells. */
const jointLevel = 0.05;

/** What the rounding of logarithms may leave of nothing. */
const tiny = 1e-12;

/** Nine decimals: below them a difference of almost equal numbers is what one library of logarithms gives and another does not. */
const decimals = (value: number): number => Math.round(value * 1e9) / 1e9;

const percent = (log: number): number => decimals(100 * Math.expm1(log));

/** Two-sided p of a contrast; null when nothing tells the noise. */
function pOf({ effect, error }: Contrast, { freedom }: Noise): number | null {
  if (error === null) return null;
  if (error < tiny) return Math.abs(effect) < tiny ? 1 : 0;
  return decimals(Math.min(1, 2 * tUpperTail(Math.abs(effect / error), freedom)));
}

function bounded(
  { effect, error }: Contrast,
  { freedom }: Noise,
  level: number,
): NonNullable<AblationCell['joint']> {
  if (error === null)
    return { percent: percent(effect), lowerPercent: null, upperPercent: null, level: null };
  const half = tQuantile(1 - level / 2, freedom) * error;
  return {
    percent: percent(effect),
    lowerPercent: percent(effect - half),
    upperPercent: percent(effect + half),
    level: 1 - level,
  };
}

interface Measured {
  cell: CellVerdict;
  refused: string[];
  /** Null when the design lacks rows that it cannot do without. */
  effects: DesignEffects | null;
  /** By factor; null where there is none to show. */
  main: (Contrast | null)[];
}

/** ln(arm / reference) is ln(rate) less what all arms of a round have in common, and that is what the blocks take out. */
function measure(design: Design, cell: CellVerdict, witnesses: readonly SwitchWitness[]): Measured {
  const reference = design.rows[0];
  const rounds = cell.comparisons.flatMap(({ effect }) => (effect === null ? [] : [effect.rounds]));
  const rows = design.rows.flatMap((row) => {
    const perRound =
      row === reference
        ? Array.from({ length: Math.max(0, ...rounds) }, () => 0)
        : cell.comparisons.find(({ arm }) => arm === row.arm)?.effect?.perRound;
    return perRound === undefined ? [] : [{ ...row, perRound }];
  });
  const measured = new Set(rows.map(({ arm }) => arm));
  const refused = design.rows.flatMap(({ arm }) => (measured.has(arm) ? [] : [arm]));
  const enough = rounds.length > 0 && (refused.length === 0 || design.kind === 'one-at-a-time');
  const effects = enough ? designEffects(design.kind, rows) : null;
  const main = design.factors.map((_, factor) =>
    witnesses[factor]?.status === 'none' ? null : (effects?.main[factor] ?? null),
  );
  return { cell, refused, effects, main };
}

const nothing: Noise = { sigma: null, freedom: 0, from: 'none' };

/** Claims of a whole session in one family: the steps by cell and factor. */
function claimSteps(measured: readonly Measured[]): (HolmStep | undefined)[][] {
  const claims = measured.flatMap(({ main, effects }, cell) =>
    main.flatMap((contrast, factor) => {
      const p = contrast === null ? null : pOf(contrast, effects?.noise ?? nothing);
      return p === null ? [] : [{ cell, factor, p }];
    }),
  );
  const steps = holmSteps(
    claims.map(({ p }) => p),
    jointLevel,
  );
  const table = measured.map(({ main }): (HolmStep | undefined)[] => main.map(() => undefined));
  claims.forEach(({ cell, factor }, index) => {
    const row = table[cell];
    if (row !== undefined) row[factor] = steps[index];
  });
  return table;
}

function switchesOf(
  { factors }: Design,
  { main, effects }: Measured,
  steps: readonly (HolmStep | undefined)[],
): AblationCell['switches'] {
  const noise = effects?.noise ?? nothing;
  return factors.map((factor, index) => {
    const contrast = main[index] ?? null;
    if (contrast === null) return { ...factor, effect: null };
    const step = steps[index];
    const effect = {
      ...bounded(contrast, noise, step?.level ?? jointLevel),
      p: pOf(contrast, noise),
      adjustedP: step?.adjustedP ?? null,
      stands: step?.stands ?? false,
    };
    return { ...factor, effect };
  });
}

/** Pairs by cell, largest first, each with its place in one ranking of all pairs of the session. */
function rankedPairs({ factors }: Design, measured: readonly Measured[]): AblationCell['pairs'][] {
  const all = measured.flatMap(({ effects }, cell) =>
    (effects?.pairs ?? []).map((chain) => ({ cell, chain, p: pOf(chain, effects?.noise ?? nothing) })),
  );
  const told = all.flatMap((found) => (found.p === null ? [] : [{ found, p: found.p }]));
  const adjusted = benjaminiHochberg(told.map(({ p }) => p));
  const adjustedOf = new Map(told.map(({ found }, index) => [found, adjusted[index] ?? null]));
  const nameOf = (index: number): string => factors[index]?.switch ?? '';
  return measured.map((_, cell) =>
    all
      .filter((found) => found.cell === cell)
      .map((found) => ({
        pairs: found.chain.pairs.map(([a, b]): [string, string] => [nameOf(a), nameOf(b)]),
        mixed: found.chain.mixed,
        percent: percent(found.chain.effect),
        p: found.p,
        adjustedP: adjustedOf.get(found) ?? null,
      }))
      .toSorted((a, b) => Math.abs(b.percent) - Math.abs(a.percent)),
  );
}

/** The ablation of a session whose plan has a design, from cells that are judged; undefined without a design. */
export function ablationOf(
  plan: Plan,
  cells: readonly CellVerdict[],
  witnesses: readonly SwitchWitness[],
): Ablation | undefined {
  const { design } = plan;
  if (design === undefined) return undefined;
  const measured = cells.map((cell) => measure(design, cell, witnesses));
  const steps = claimSteps(measured);
  const pairs = rankedPairs(design, measured);
  return {
    kind: design.kind,
    rounds: plan.rounds.length,
    jointLevel,
    witnesses: [...witnesses],
    cells: measured.map((own, index): AblationCell => {
      const { sigma, freedom, from } = own.effects?.noise ?? nothing;
      const joint = own.effects?.joint ?? null;
      return {
        cell: own.cell.id,
        noise: { percent: sigma === null ? null : percent(sigma), freedom, from },
        switches: switchesOf(design, own, steps[index] ?? []),
        pairs: pairs[index] ?? [],
        joint: joint === null ? null : bounded(joint, own.effects?.noise ?? nothing, jointLevel),
        refused: own.refused,
      };
    }),
  };
}

/** Switches of an ablation that nothing shows to have worked. One at a time, their own comparison is refused already. */
export const ablationReasons = (ablation: Ablation | undefined): Finding[] =>
  (ablation?.witnesses ?? [])
    .filter(({ status }) => status === 'none')
    .map((witness) => finding('switch-without-effect', `${witness.switch}: ${witness.message}`));

/** Every ablation says so, lest its exit code is taken for a qualification. */
export const ablationWarning: Finding = finding(
  'ablation',
  'an ablation: effects of switches are measured and no budget is judged; a pass says that every proof holds',
);
