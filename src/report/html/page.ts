/**
 * The report as one HTML page that needs nothing else: no script, no font, no picture from anywhere, which its own policy forbids.
 * The same bytes for the same run, wherever it is rendered.
 */
import { createHash } from 'node:crypto';
import { observe } from '../../analysis/observations.js';
import type { Reason, Verdict } from '../../verdict/schema.js';
import { provenanceOf, type ReportContext, verifyCommand } from '../context.js';
import { controlLines } from '../controls.js';
import { headline, legend } from '../details.js';
import { delta, interval, parityText, rate, ratio, spread, verdictText, workload } from '../format.js';
import { firstNotes, laterReasons, laterWarnings, reasonsByRow } from '../notes.js';
import { type Row, rowsOf } from '../rows.js';
import { simulatedNotice } from '../simulated.js';
import { smallProtocol } from '../small-protocol.js';
import { ablationSection } from './ablation.js';
import { buildTable } from './builds.js';
import { cellSection, type Page } from './cell.js';
import { acrossPage, loadDraw } from './chart.js';
import { conditionTables } from './conditions.js';
import { html, type Markup, nothing, trusted } from './markup.js';
import { overviewChart } from './overview-chart.js';
import { timelineFigure } from './session.js';
import { styleSheet } from './style.js';
import { listed, stackedTable } from './table.js';
import { badge, toneOf } from './tone.js';

/** A sentence of ours with its code spans: what is between two backquotes. */
const withCode = (text: string): Markup[] =>
  text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));

const notesOf = (reasons: readonly Reason[]): Markup[] =>
  reasons.map(({ code, message }) => html`<p>${withCode(message)} <code>${code}</code></p>`);

/** `+1 % to +2 %` on two lines, where a column has no room. */
function stacked(text: string): Markup {
  const [first = '', ...rest] = text.split(' to ');
  return html`${first}${rest.map((part) => html` to<br>${part}`)}`;
}

/** The rows as a table: the figures of those that are proved, the word of the others. */
function resultTable(rows: readonly Row[]): Markup {
  const names = new Set(rows.flatMap(({ comparison }) => [comparison.against, comparison.arm]));
  const named = names.size > 2;
  const [first] = rows;
  const heads =
    named || first === undefined ? ['reference', 'arm'] : [first.comparison.against, first.comparison.arm];
  const lines = rows.map(({ cell, comparison, base, head }) => {
    const { effect } = comparison;
    const arm = (summary: Row['base'], name: string) =>
      summary === undefined
        ? '–'
        : html`${named ? html`<span class="quiet">${name}</span><br>` : ''}${rate(summary)}<br><span class="quiet">${spread(summary)}</span>`;
    return [
      workload(cell),
      arm(base, comparison.against),
      arm(head, comparison.arm),
      effect === null ? '–' : html`${delta(effect)}<br><span class="quiet">${ratio(effect)}</span>`,
      effect === null ? '–' : stacked(interval(effect)),
      badge(comparison.verdict, verdictText(comparison)),
      parityText(comparison),
      cell.coldness.status,
    ];
  });
  const columns = [
    { head: 'workload' },
    ...heads.map((head) => ({ head, number: true })),
    { head: 'change', number: true },
    { head: 'interval', number: true },
    { head: 'verdict' },
    { head: 'parity' },
    { head: 'cold' },
  ];
  return stackedTable('Every comparison, the losing one first', columns, lines);
}

async function overview(rows: readonly Row[], { verdict, draw }: Page): Promise<Markup> {
  if (rows.filter(({ comparison }) => comparison.effect !== null).length < 2) return nothing;
  const drawn = await acrossPage((width) => draw(overviewChart(rows, verdict, width)));
  return html`<figure>${drawn}<figcaption>Change with its interval; the upright mark is the budget of the cell.</figcaption></figure>`;
}

async function resultSection(rows: readonly Row[], page: Page): Promise<Markup> {
  const { verdict } = page;
  const { plan } = page.context;
  if (rows.length === 0) return nothing;
  const said = [legend(verdict, rows, true), ...smallProtocol(plan)].filter((text) => text !== '');
  return html`<section aria-labelledby="result"><h2 id="result">Result</h2>
${await overview(rows, page)}
${resultTable(rows)}
${said.map((text) => html`<p class="quiet">${text}</p>`)}</section>`;
}

/** Why the result is no pass, of the session and its cells. */
function reasonsSection({ verdict }: Page): Markup {
  const reasons = notesOf(reasonsByRow(verdict));
  if (reasons.length === 0) return nothing;
  return html`<section aria-labelledby="reasons"><h2 id="reasons">Reasons</h2><div class="notes">${reasons}</div></section>`;
}

async function cellSections(rows: readonly Row[], page: Page): Promise<Markup> {
  if (rows.length === 0) return nothing;
  const sections: Markup[] = [];
  for (const [index, row] of rows.entries()) sections.push(await cellSection(row, `cell-${index + 1}`, page));
  return html`<section aria-labelledby="cells"><h2 id="cells">Cell by cell</h2>
${sections}</section>`;
}

async function sessionSection(page: Page): Promise<Markup> {
  const { verdict } = page;
  const controls = controlLines(verdict);
  const warnings = notesOf(laterWarnings(verdict));
  return html`<section aria-labelledby="session"><h2 id="session">Session</h2>
${await timelineFigure(page)}
${controls.length === 0 ? nothing : html`<h3>Controls</h3>${listed(controls)}`}
${warnings.length === 0 ? nothing : html`<h3>Warnings</h3><div class="notes">${warnings}</div>`}</section>`;
}

function comparedSection({ context, seen }: Page): Markup {
  const { plan } = context;
  const arms = plan.arms.map(({ name }) => name);
  return html`<section aria-labelledby="compared"><h2 id="compared">What was compared</h2>
<h3>Builds and switches</h3>
${buildTable(plan, seen)}
<h3>Machine and conditions</h3>
${conditionTables(seen, arms)}
<h3>Provenance</h3>
${listed(provenanceOf(context))}</section>`;
}

function checkSection({ context, verdict }: Page): Markup {
  const { sealed } = context;
  const facts = [
    ...(sealed === undefined
      ? []
      : [
          {
            label: 'index',
            text: html`<code>evidence.sha256</code> has SHA-256 <code>${sealed.indexSha256}</code>`,
          },
          { label: 'signed by', text: html`<code>${sealed.signer}</code>` },
        ]),
    { label: 'plan', text: html`SHA-256 <code>${verdict.planDigest}</code>` },
  ];
  return html`<section aria-labelledby="check"><h2 id="check">Check it</h2>
<p>This page proves nothing: whoever has it can change it. The run folder cannot be changed without a trace; ask for it, and for the signer's key by another way.</p>
<pre tabindex="0"><code>${verifyCommand(context)} --key SIGNER.pub
sha256sum evidence.sha256     # in the run folder: the index below</code></pre>
${listed(facts)}</section>`;
}

function navigation(rows: readonly Row[], verdict: Verdict): Markup {
  const hasReasons = laterReasons(verdict).length > 0;
  const links = [
    ...(verdict.ablation === undefined ? [] : [['switches', 'Switches']]),
    ...(rows.length === 0 ? [] : [['result', 'Result']]),
    ...(hasReasons ? [['reasons', 'Reasons']] : []),
    ...(rows.length === 0 ? [] : [['cells', 'Cell by cell']]),
    ['session', 'Session'],
    ['compared', 'What was compared'],
    ['check', 'Check it'],
  ];
  return html`<nav aria-label="Sections"><ul>${links.map(([id = '', text = '']) => html`<li><a href="#${id}">${text}</a></li>`)}</ul></nav>`;
}

function banner({ verdict, context }: Page): Markup {
  const notice = simulatedNotice(context.plan);
  const first = notesOf(firstNotes(verdict));
  return html`<header>
<p class="eyebrow">${verdict.matrix.name}</p>
<h1 class="verdict ${toneOf(verdict.result)}">${headline(verdict)}</h1>
<p class="title">${verdict.matrix.title}</p>
${listed(provenanceOf(context).filter(({ label }) => ['session', 'answers', 'machine'].includes(label)))}
${notice === '' ? nothing : html`<p class="simulated" role="note">${notice}</p>`}
${first.length === 0 ? nothing : html`<div class="notes">${first}</div>`}
</header>`;
}

/** What the page may do: nothing, but be styled by this very style sheet. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(styleSheet).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** The whole page, ending with a line feed. Of what is refused it has the reasons and no rate. */
export async function renderHtml(verdict: Verdict, context: ReportContext): Promise<string> {
  const page: Page = { verdict, context, seen: observe(context.entries), draw: await loadDraw() };
  const rows = rowsOf(verdict);
  const result = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${verdict.result.toUpperCase()} · ${verdict.matrix.name} · qualify</title>
<style>${trusted(styleSheet)}</style>
</head>
<body>
${banner(page)}
${navigation(rows, verdict)}
<main>
${await ablationSection(page)}
${await resultSection(rows, page)}
${reasonsSection(page)}
${await cellSections(rows, page)}
${await sessionSection(page)}
${comparedSection(page)}
${checkSection(page)}
</main>
<footer><p>Rendered by <code>qualify report --format html</code> from plan, journal and verdict of session ${verdict.session}.</p></footer>
</body>
</html>
`;
  return result.text;
}
