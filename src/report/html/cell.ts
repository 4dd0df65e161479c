/** The section of one comparison: what it says, what it rests on, and its charts with their data. */
import type { Observations } from '../../analysis/observations.js';
import { signedPercent } from '../../verdict/percent.js';
import type { Effect, Verdict } from '../../verdict/schema.js';
import type { ReportContext } from '../context.js';
import { detailsOf } from '../details.js';
import { delta, interval, ratio, verdictText, workload } from '../format.js';
import type { Row } from '../rows.js';
import { areStagesDisturbed, change, milliseconds, stageRows } from '../stages.js';
import type { Draw } from './chart.js';
import { html, type Markup, nothing } from './markup.js';
import { proofTable } from './proofs.js';
import { firstOf, lookRecords, roundsChart } from './rounds-chart.js';
import { type ArmSamples, armSamples, samplesChart } from './samples-chart.js';
import { stagesChart } from './stages-chart.js';
import { folded, listed, table } from './table.js';
import { badge, toneOf } from './tone.js';

/** What all sections of a page share. */
export interface Page {
  verdict: Verdict;
  context: ReportContext;
  seen: Observations;
  draw: Draw;
}

const figure = (chart: Markup, caption: string, data: Markup): Markup =>
  html`<figure>${chart}<figcaption>${caption}</figcaption>${data}</figure>`;

async function samplesFigure(
  row: Row,
  arms: readonly ArmSamples[],
  { verdict, context, draw }: Page,
): Promise<Markup> {
  const { samples } = context.plan.protocol;
  const lines = arms.flatMap(({ arm, byRound }) =>
    byRound.map((own, round) => [`${arm}, round ${round + 1}`, ...own.map((value) => value.toFixed(2))]),
  );
  const columns = [
    { head: 'launch of' },
    ...Array.from({ length: samples }, (_, index) => ({ head: index + 1, number: true })),
  ];
  return figure(
    await draw(samplesChart(row, arms, verdict)),
    'Every retained sample. Line: median over all of an arm; band: median ± MAD.',
    folded('Samples in tok/s', table(`Samples of ${workload(row.cell)}, tok/s`, columns, lines)),
  );
}

async function roundsFigure(row: Row, effect: Effect, { context, draw }: Page): Promise<Markup> {
  const { plan } = context;
  const rounds = effect.perRound.map((log, index) => [
    `round ${index + 1}`,
    signedPercent(Math.exp(log)),
    `${firstOf(row, plan, index)} first`,
  ]);
  const looks = lookRecords(effect, plan).map(({ rounds: at, lower, upper, ...look }) => [
    `look after ${at}`,
    signedPercent(look.ratio),
    lower === null || upper === null ? 'no interval' : `${signedPercent(lower)} to ${signedPercent(upper)}`,
  ]);
  const columns = [
    { head: 'of' },
    { head: 'change', number: true },
    { head: 'order, or interval', number: true },
  ];
  return figure(
    await draw(roundsChart(row, effect, plan)),
    `One point a round. Bars: the interval at each look; band: the one that decides; short dashes: the budget of -${row.cell.marginPercent} %.`,
    folded(
      'Rounds and looks',
      table(`Change by round, ${workload(row.cell)}`, columns, [...rounds, ...looks]),
    ),
  );
}

async function stagesFigure(row: Row, arms: readonly ArmSamples[], { verdict, draw }: Page): Promise<Markup> {
  const stages = stageRows(row);
  if (stages.length === 0) return nothing;
  const columns = [
    { head: 'stage' },
    ...arms.map(({ arm }) => ({ head: `${arm}, ms`, number: true })),
    { head: 'change', number: true },
  ];
  const lines = stages.map((stage) => [
    stage.stage,
    milliseconds(stage.baseMs),
    milliseconds(stage.headMs),
    change(stage),
  ]);
  const of = row.cell.phase === 'prefill' ? 'Stages' : 'Stages of the prefill';
  const disturbed = areStagesDisturbed(verdict)
    ? ' Others used the machine, which wall time does not bear.'
    : '';
  return figure(
    await draw(stagesChart(row, stages, arms)),
    `${of}, medians by wall time, the largest change first.${disturbed}`,
    folded('Stages in ms', table(`Stages of ${workload(row.cell)}`, columns, lines)),
  );
}

async function chartsOf(row: Row, page: Page): Promise<Markup> {
  const { effect } = row.comparison;
  const { plan } = page.context;
  const arms = armSamples(
    row,
    plan.protocol.samples,
    plan.arms.map(({ name }) => name),
  );
  // A missing proof is a refusal: no rate of it is drawn.
  if (effect === null || arms.length === 0) return nothing;
  const figures = [
    await samplesFigure(row, arms, page),
    await roundsFigure(row, effect, page),
    await stagesFigure(row, arms, page),
  ];
  return html`<div class="charts">${figures}</div>`;
}

/** One comparison; `id` is the anchor of its heading. */
export async function cellSection(row: Row, id: string, page: Page): Promise<Markup> {
  const { cell, comparison } = row;
  const { effect } = comparison;
  const lead =
    effect === null
      ? html`<p class="lead refused">No rates: not everything is measured and proved.</p>`
      : html`<p class="lead ${toneOf(comparison.verdict)}"><strong>${delta(effect)}</strong> <span>${ratio(effect)}</span> <span>${interval(effect)}</span></p>`;
  const told = new Set(comparison.reasons.map(({ message }) => message));
  const cold = cell.coldness.reasons
    .filter(({ message }) => !told.has(message))
    .map(({ code, message }) => ({ label: 'cold', text: `${message} [${code}]` }));
  return html`<section class="cell" aria-labelledby="${id}">
<h3 id="${id}">${workload(cell)} <small>${comparison.arm} against ${comparison.against}</small> ${badge(comparison.verdict, verdictText(comparison))}</h3>
${lead}
${await chartsOf(row, page)}
${listed([...detailsOf(row), ...cold])}
${folded('Proofs, counted', proofTable(page.seen, cell, comparison))}
</section>`;
}
