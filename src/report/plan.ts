/** A plan as people read it. */

import { fewestRounds } from '../analysis/effect.js';
import { bearableVoids } from '../analysis/void-rounds.js';
import { counted } from '../counted.js';
import { plantedText } from '../matrix/planted.js';
import { planDigest } from '../plan/build.js';
import type { Estimate } from '../plan/estimate.js';
import { capOf } from '../plan/rounds.js';
import type { Plan } from '../plan/schema.js';
import { duration } from './duration.js';
import { plainText } from './escape.js';
import { looksText } from './looks.js';
import { simulationText } from './simulated.js';
import { smallProtocol } from './small-protocol.js';
import { labelled } from './wrap.js';

type Arm = Plan['arms'][number];

const bytes = (count: number): string =>
  count < 1e9 ? `${Math.ceil(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;

function cellText(cell: Plan['cells'][number]): string {
  const optional = cell.required ? '' : ', not required';
  const cap = cell.cap === undefined ? '' : `, at most ${counted(cell.cap, 'round')}`;
  const generated = `${cell.generatedTokens} generated`;
  return `${cell.id} (${cell.phase}: ${cell.promptTokens} prompt tokens, chunk ${cell.chunk}, ${generated}, margin ${cell.marginPercent} %${cap}${optional})`;
}

function armText({ control, plantedSlowdownPercent, ...arm }: Arm): string {
  if (control === 'null') return 'the reference once more: a control, not compared';
  const settings = [
    ...(plantedSlowdownPercent === undefined ? [] : [plantedText(plantedSlowdownPercent)]),
    ...Object.entries(arm.switches).map(([name, value]) => `${name}=${value}`),
    ...arm.arguments,
  ];
  return [arm.revision, ...settings, ...(control === undefined ? [] : [`(control: ${control})`])].join(' ');
}

function narrowed({ leftOut }: Plan): [string, string][] {
  if (leftOut === undefined) return [];
  return [
    ['warning', `narrowed: without ${leftOut.join(', ')} this is no qualification, whatever it measures`],
  ];
}

function tooFew(plan: Plan): [string, string][] {
  if (plan.design !== undefined) return [];
  const { length } = plan.rounds;
  const few = `${counted(length, 'round')}: with fewer than ${fewestRounds} nothing can pass; this is only a quick look`;
  const told = smallProtocol(plan).map((text): [string, string] => ['', text]);
  if (length < fewestRounds) return [['warning', few], ...told];
  const capped = plan.cells.filter((cell) => capOf(plan, cell) < fewestRounds);
  return capped.map(({ id, cap }) => [
    'warning',
    `${id} is capped at ${cap}: with fewer than ${fewestRounds} rounds it cannot pass`,
  ]);
}

function nullArm({ protocol: { nullRounds } }: Plan, { nullArm: cost }: Estimate): [string, string][] {
  if (nullRounds === 0)
    return [['warning', 'no null arm: nothing will show what the machine makes up by itself']];
  const text = `in ${counted(nullRounds, 'round')}: ${counted(cost.launches, 'launch', 'es')}, about ${duration(cost.seconds)} of the time below`;
  return [['null arm', text]];
}

function ofVoidRounds(plan: Plan): [string, string][] {
  if (plan.decision.voidShare === undefined) return [];
  const rounds = plan.rounds.length;
  const text = `one that telemetry voids is measured again, all its arms: at most ${bearableVoids(plan, rounds)} of ${counted(rounds, 'round')}`;
  return [['void rounds', text]];
}

function ablated({ design }: Plan): [string, string][] {
  if (design === undefined) return [];
  const switches = design.factors.map(({ switch: name, low, high }) => `${name} ${low} or ${high}`);
  return [['ablation', `${design.kind}, no budget is judged: ${switches.join(', ')}`]];
}

function simulated(plan: Plan): [string, string][] {
  const text = simulationText(plan);
  return text === null ? [] : [['SIMULATED', text]];
}

/** A guess for a machine that does nothing else. */
function timeText({ decision: { looks } }: Plan, { seconds }: Estimate): string {
  const first = duration(seconds.firstLook);
  const whole =
    looks.length === 1 ? first : `${first} to the first look, ${duration(seconds.cap)} to the last,`;
  return `about ${whole} on a quiet machine; builds and the making of a model come on top`;
}

/** Two columns of 80: labels that are wider stand alone, so that a digest always fits on one line. */
const WIDEST_LABEL = 14;

/** Cells, arms, order, protocol and cost of a plan, with what else there is to warn of, 80 columns wide. */
export function describePlan(plan: Plan, cost: Estimate, warnings: readonly string[] = []): string {
  const { protocol, decision } = plan;
  const model =
    'preset' in plan.model
      ? `${plan.model.preset}, experts ${plan.model.experts}`
      : 'simulated' in plan.model
        ? 'none: simulated'
        : plan.model.path;
  const rows: [string, string][] = [
    ['plan', `${plan.matrix.name}: ${plan.matrix.title}`],
    ['digest', planDigest(plan)],
    ['seed', plan.seed],
    ['model', model],
    ...plan.cells.map((cell): [string, string] => ['cell', cellText(cell)]),
    ...plan.arms.map((arm): [string, string] => [`arm ${arm.name}`, armText(arm)]),
    ['order', plan.rounds.map(({ order }) => order.join(' ')).join(' | ')],
    [
      'each launch',
      `positive control of coldness, then a cell at a time ${counted(protocol.warmups, 'warm-up')}, ${counted(protocol.samples, 'sample')}, 1 parity request`,
    ],
    [
      'decision',
      `${decision.rule} by ${protocol.clock} time, ${looksText(decision.looks)}, ${decision.interval} bounds at one-sided ${decision.levelPerLook}; parity ${protocol.parity}`,
    ],
    ...ofVoidRounds(plan),
    ...ablated(plan),
    ...simulated(plan),
    ...tooFew(plan),
    ...narrowed(plan),
    ...warnings.map((text): [string, string] => ['warning', text]),
    ...nullArm(plan, cost),
    [
      'launches',
      `${cost.launches} at most, ${counted(cost.requests, 'request')}, ${counted(cost.promptTokens, 'prompt token')}`,
    ],
    ['time', timeText(plan, cost)],
    [
      'disk',
      `model ${bytes(cost.diskBytes.model)}, builds ${bytes(cost.diskBytes.builds)}, run folder ${bytes(cost.diskBytes.runFolder)}`,
    ],
  ];
  const widths = rows.map(([label]) => label.length).filter((width) => width <= WIDEST_LABEL);
  const indent = Math.max(...widths) + 2;
  return rows.flatMap(([label, text]) => labelled(plainText(label), plainText(text), indent, 80)).join('\n');
}
