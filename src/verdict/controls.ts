/** What follows from the controls of a session: refusals, warnings, claims that do not stand, and the list that the verdict shows. */
import type { LookAnalysis } from '../analysis/analyse.js';
import type { ComparisonAnalysis } from '../analysis/comparison.js';
import { fewestRounds } from '../analysis/effect.js';
import { type Finding, finding } from '../analysis/finding.js';
import { leverOffArmsOf } from '../analysis/levers.js';
import type { Plan } from '../plan/schema.js';
import type { Control } from './schema.js';
import type { SettledCell, SettledComparison } from './settle.js';

const nullMoved = ({ message }: Control): Finding =>
  finding(
    'null-arm-moved',
    `${message}: what this session makes up is as large as what it should find; quiet the machine and measure again`,
  );

function warmUpMoved({ message, percent }: Control): Finding {
  const remedy =
    (percent ?? 0) > 0
      ? 'the engine was still warming up; raise `protocol.warmups`'
      : 'the engine slows down while it is measured; let it cool or settle, or raise `protocol.warmups`';
  return finding('warm-up-insufficient', `${message}: ${remedy}`);
}

/** Below the fewest rounds a change from sample to sample is told and does not refuse. */
const refuses = ({ name, status, rounds }: Control): boolean =>
  status === 'exceeded' && (name === 'null' || (name === 'warm-up' && rounds >= fewestRounds));

/** Why the session contaminates a cell at a look, by its own controls. */
export const controlRefusals = ({ controls }: Pick<LookAnalysis, 'controls'>): Finding[] =>
  controls.readings
    .filter(refuses)
    .map((control) => (control.name === 'null' ? nullMoved(control) : warmUpMoved(control)));

/** Codes of the refusals above: a cell that only they refuse shows its controls. */
const ownCodes: readonly string[] = ['null-arm-moved', 'warm-up-insufficient'];

const orderOf = (comparison: ComparisonAnalysis | undefined): Control | undefined =>
  comparison?.controls.find(({ name, status }) => name === 'order' && status === 'exceeded');

/** The order of launches speaks against the effect: no decision may rest on it. */
export const contradictedByOrder = (comparison: ComparisonAnalysis): boolean =>
  orderOf(comparison) !== undefined;

/** The reason for an undecided comparison whose effect turns round when a drift is taken out; nothing for others. */
export function orderReason(comparison: ComparisonAnalysis): Finding[] {
  const order = orderOf(comparison);
  if (order === undefined) return [];
  const message = `${order.message}: the order of launches makes the effect; measure again on a steadier machine`;
  return [finding('order-contradicts', message)];
}

/** Why an improvement of a head is not its switches' doing; empty without a lever-off arm, or when each shows that it is. */
export function leverReasons(plan: Plan, look: LookAnalysis, arm: string): Finding[] {
  const own = leverOffArmsOf(plan, arm);
  return look.controls.readings
    .filter(({ name, arm: about }) => name === 'lever-off' && about !== null && own.includes(about))
    .filter(({ status }) => status !== 'ok')
    .map(({ message }) =>
      finding('gain-not-the-levers', `faster, but not shown to be so by its switches: ${message}`),
    );
}

const refusedByOthers = ({ refusals }: SettledComparison): boolean =>
  refusals.flatMap(({ reasons }) => reasons).some(({ code }) => !ownCodes.includes(code));

/**
 * The controls of a cell; none where a proof is missing, because statistics are shown of nothing that is not proved. Where a
 * control itself refuses, those that speak of an effect are left out with it.
 */
export function controlsOf(cell: SettledCell): Control[] {
  if (cell.comparisons.every(refusedByOthers)) return [];
  const shown = cell.comparisons.filter(({ refusals }) => refusals.length === 0);
  const { readings } = cell.look.controls;
  const ofComparisons = shown.flatMap(({ arm, look }) =>
    look.comparisons.filter((comparison) => comparison.arm === arm).flatMap(({ controls }) => controls),
  );
  return [...readings.filter(({ name }) => shown.length > 0 || name !== 'lever-off'), ...ofComparisons];
}

/** Warnings of a cell: what was seen of its controls that does not refuse, and controls that are not there. */
export function controlWarnings(plan: Plan, cell: string, controls: readonly Control[]): Finding[] {
  const exceeded = controls.filter(({ status }) => status === 'exceeded');
  const slots = exceeded
    .filter(({ name }) => name === 'slot')
    .map(({ message }) => finding('slot-effect', `${cell}, ${message}`));
  const warmUps = exceeded
    .filter((control) => control.name === 'warm-up' && !refuses(control))
    .map((control) => warmUpMoved(control))
    .map(({ code, message }) => finding(code, `${cell}, ${message}`));
  const absent = plan.arms.some(({ control }) => control === 'null')
    ? []
    : [
        finding(
          'no-null-arm',
          'without a null arm nothing shows what the machine makes up by itself; set `protocol.nullRounds: 2`',
        ),
      ];
  return [...slots, ...warmUps, ...absent];
}
