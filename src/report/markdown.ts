/** The report as Markdown: `report.md`, and what a pull request shows. */
import { markdownTable } from 'markdown-table';
import { short } from '../digest.js';
import type { ArmSummary, Verdict } from '../verdict/schema.js';
import { ablationMarkdown } from './ablation.js';
import { type Provenance, provenanceOf, type ReportContext } from './context.js';
import { controlLines } from './controls.js';
import { detailsOf, headline, legend } from './details.js';
import { markdownCode, markdownText } from './escape.js';
import { evidenceLines } from './evidence-lines.js';
import { delta, interval, parityText, rate, ratio, spread, verdictText, workload } from './format.js';
import { firstNotes, laterReasons, laterWarnings } from './notes.js';
import { type Row, rowsOf } from './rows.js';
import { simulatedNotice } from './simulated.js';
import { smallProtocol } from './small-protocol.js';
import { change, milliseconds, stageRows } from './stages.js';

const bold = (text: string): string => (text === '' ? '' : `**${text}**`);

const arm = (summary: ArmSummary | undefined): string =>
  summary === undefined ? '–' : `${rate(summary)} ${spread(summary)}`;

function mainTable(rows: readonly Row[]): string {
  const arms = new Set(rows.flatMap(({ comparison }) => [comparison.against, comparison.arm]));
  const named = arms.size > 2;
  const [first] = rows;
  const heads =
    named || first === undefined ? ['reference', 'arm'] : [first.comparison.against, first.comparison.arm];
  const head = ['Workload', ...heads, 'Change', 'Interval', 'Verdict', 'Parity', 'Cold'];
  const body = rows.map(({ cell, comparison, base, head: own }) => {
    const { effect } = comparison;
    const name = (text: string): string => (named ? `${text}: ` : '');
    const cells = [
      workload(cell),
      name(comparison.against) + arm(base),
      name(comparison.arm) + arm(own),
      effect === null ? '–' : `${delta(effect)} ${ratio(effect)}`,
      effect === null ? '–' : interval(effect),
      verdictText(comparison),
      parityText(comparison),
      cell.coldness.status,
    ];
    return cells.map(markdownText);
  });
  return markdownTable([head.map(markdownText), ...body], {
    align: ['l', 'r', 'r', 'r', 'r', 'l', 'l', 'l'],
  });
}

function stageTable(row: Row): string[] {
  const stages = stageRows(row);
  if (stages.length === 0) return [];
  const { against, arm: head } = row.comparison;
  const body = stages.map((stage) => [
    markdownCode(stage.stage),
    `${milliseconds(stage.baseMs)} ms`,
    `${milliseconds(stage.headMs)} ms`,
    change(stage),
  ]);
  const heads = [row.cell.phase === 'prefill' ? 'Stage' : 'Prefill stage', against, head, 'Change'].map(
    markdownText,
  );
  return [markdownTable([heads, ...body], { align: ['l', 'r', 'r', 'r'] })];
}

function rowSection(row: Row): string {
  const { comparison, cell } = row;
  const title = `#### ${markdownText(workload(cell))}: ${markdownText(comparison.arm)} against ${markdownText(comparison.against)}`;
  const details = detailsOf(row).map(({ label, text }) => `- ${label}: ${markdownText(text)}`);
  return [title, details.join('\n'), ...stageTable(row)].join('\n\n');
}

function controlList(verdict: Verdict): string {
  const lines = controlLines(verdict).map(({ label, text }) => `- ${label}: ${markdownText(text)}`);
  return lines.length === 0 ? '' : ['Controls of the session:', '', ...lines].join('\n');
}

/** What a reader of the table asks at once: which commits, on what machine, with which model. */
const isFirst = ({ label }: Provenance): boolean =>
  label === 'machine' || label === 'model' || (label.startsWith('arm ') && label !== 'arm null');

/** The report as GitHub-flavoured Markdown, losing cell first, ending with a line feed. */
export function renderMarkdown(verdict: Verdict, context: ReportContext): string {
  const rows = rowsOf(verdict);
  const lines = (of: readonly Provenance[]): string[] =>
    of.map(({ label, text }) => `- ${markdownText(label)}: ${markdownText(text)}`);
  const notes = [
    ...laterReasons(verdict).map(({ code, message }) => `- ${markdownText(message)} (${code})`),
    ...laterWarnings(verdict).map(({ code, message }) => `- warning: ${markdownText(message)} (${code})`),
  ];
  // A challenge is told beside the signed text, whose words stay what they were when runs with one were sealed.
  const provenance = provenanceOf(context).filter(({ label }) => label !== 'answers');
  const [first, rest] = [true, false].map((wanted) => provenance.filter((line) => isFirst(line) === wanted));
  const folded = [
    controlList(verdict),
    ...rows.map(rowSection),
    [...lines(rest ?? []), `- plan: sha256 ${short(verdict.planDigest)}`].join('\n'),
  ].filter((part) => part !== '');
  const parts = [
    `### ${markdownText(verdict.matrix.name)}: ${markdownText(verdict.matrix.title)}`,
    bold(simulatedNotice(context.plan)),
    bold(headline(verdict)),
    ...firstNotes(verdict).map(({ code, message }) => `${markdownText(message)} (${code})`),
    ablationMarkdown(verdict),
    rows.length === 0 ? '' : mainTable(rows),
    lines([...(rows.length === 0 ? [] : evidenceLines(verdict, context)), ...(first ?? [])]).join('\n'),
    `Check it: ${markdownCode('qualify verify RUN')}, with the folder or the archive of session ${markdownCode(context.plan.session)}`,
    notes.join('\n'),
    legend(verdict, rows, true),
    ...smallProtocol(context.plan).map(markdownText),
    `<details><summary>How it was measured, proofs, and where the time went</summary>\n\n${folded.join('\n\n')}\n\n</details>`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
