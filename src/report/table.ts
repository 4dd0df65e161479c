/** The table for the terminal: 80 columns, no colour, nothing that could steer the terminal. */
import Table from 'cli-table3';
import type { ArmSummary, Reason, Verdict } from '../verdict/schema.js';
import { ablationText } from './ablation-text.js';
import { provenanceOf, type ReportContext, verifyCommand } from './context.js';
import { controlLines } from './controls.js';
import { detailsOf, headline, legend } from './details.js';
import { plainText } from './escape.js';
import { delta, rate, ratio, spread, workload } from './format.js';
import { firstNotes, laterReasons, laterWarnings } from './notes.js';
import { type Row, rowsOf } from './rows.js';
import { simulatedNotice } from './simulated.js';
import { smallProtocol } from './small-protocol.js';
import { areStagesDisturbed, change, disturbedStages, milliseconds, stageRows } from './stages.js';
import { labelled, wrap } from './wrap.js';

const width = 80;
/** Inner widths; with two spaces a column and six bars they make 80. */
const columns = [14, 14, 14, 8, 14];
const labelWidth = 9;

function armLines(summary: ArmSummary | undefined, name: string | null): string[] {
  const title = name === null ? [] : [name];
  return summary === undefined
    ? [...title, '-']
    : [...title, rate(summary), spread(summary), `n=${summary.n}`];
}

function tableText(rows: readonly Row[]): string {
  const arms = new Set(rows.flatMap(({ comparison }) => [comparison.against, comparison.arm]));
  const named = arms.size > 2;
  const [first] = rows;
  const heads =
    named || first === undefined ? ['reference', 'arm'] : [first.comparison.against, first.comparison.arm];
  const table = new Table({ colWidths: columns.map((inner) => inner + 2), style: { head: [], border: [] } });
  const fit = (cells: readonly (readonly string[])[]): string[] =>
    cells.map((lines, index) =>
      lines.flatMap((line) => wrap(plainText(line), columns[index] ?? width)).join('\n'),
    );
  table.push(fit([['workload'], [heads[0] ?? ''], [heads[1] ?? ''], ['change'], ['verdict']]));
  for (const { cell, comparison, base, head } of rows) {
    const { effect, verdict: word, detail } = comparison;
    table.push(
      fit([
        workload(cell).split(', '),
        armLines(base, named ? comparison.against : null),
        armLines(head, named ? comparison.arm : null),
        effect === null ? ['-'] : [delta(effect), ratio(effect)],
        [word, ...(detail === null ? [] : [detail])],
      ]),
    );
  }
  return rows.length === 0 ? '' : table.toString();
}

function stageLines(row: Row): string[] {
  const stages = stageRows(row);
  if (stages.length === 0) return [];
  const cells = stages.map((stage) => [
    plainText(stage.stage).slice(0, 30),
    milliseconds(stage.baseMs),
    milliseconds(stage.headMs),
    change(stage),
  ]);
  const widthOf = (column: number): number => Math.max(...cells.map((line) => line[column]?.length ?? 0));
  const [name, base, head] = [widthOf(0), widthOf(1), widthOf(2)];
  // An engine tells the stages of the prefill, also in a cell that measures decoding: there they get a title.
  const isDecode = row.cell.phase === 'decode';
  const title = isDecode ? ['  prefill stages'] : [];
  const lines = cells.map(([stage = '', baseMs = '', headMs = '', text = ''], index) => {
    const label = (index === 0 && !isDecode ? '  time' : '').padEnd(labelWidth + 2);
    return `${label}${stage.padEnd(name)}  ${baseMs.padStart(base)} -> ${headMs.padStart(head)} ms  ${text}`;
  });
  return [...title, ...lines];
}

function rowText(row: Row, withStages: boolean): string {
  const { comparison, cell } = row;
  const title = `${workload(cell)}: ${comparison.arm} against ${comparison.against}`;
  const details = detailsOf(row).flatMap(({ label, text }) =>
    labelled(`  ${label}`, plainText(text), labelWidth + 2, width),
  );
  return [...wrap(title, width), ...details, ...(withStages ? stageLines(row) : [])].join('\n');
}

function controlText(verdict: Verdict): string {
  const lines = controlLines(verdict).flatMap(({ label, text }) =>
    labelled(`  ${label}`, plainText(text), labelWidth + 4, width),
  );
  return lines.length === 0 ? '' : ['controls', ...lines].join('\n');
}

/** Why a run is no pass whose cells all are: read with the headline, which counts them. */
const isOfWhole = ({ code }: Reason): boolean => code === 'narrowed';

/** The report for a terminal, losing cell first, ending without a line feed. */
export function renderTable(verdict: Verdict, context: ReportContext): string {
  const rows = rowsOf(verdict);
  const place = provenanceOf(context);
  const indent = Math.max(...place.map(({ label }) => label.length)) + 2;
  const told = rows.flatMap(({ comparison }) => comparison.reasons.map(({ message }) => message));
  const [early, late] = [
    laterReasons(verdict).filter(isOfWhole),
    laterReasons(verdict).filter((reason) => !isOfWhole(reason)),
  ];
  const notes = late.filter(({ message }) => !told.some((reason) => message.endsWith(reason)));
  const noteLines = [
    ...notes.map(({ code, message }) => `${message} [${code}]`),
    ...laterWarnings(verdict).map(({ code, message }) => `warning: ${message} [${code}]`),
  ];
  const withStages = !areStagesDisturbed(verdict);
  const hasStages = rows.some((row) => stageRows(row).length > 0);
  const first = [...firstNotes(verdict), ...early].map(({ code, message }) => `${message} [${code}]`);
  const head = [headline(verdict), ...first];
  const parts = [
    wrap(plainText(`${verdict.matrix.name}: ${verdict.matrix.title}`), width).join('\n'),
    wrap(simulatedNotice(context.plan), width).join('\n'),
    head.flatMap((line) => wrap(plainText(line), width)).join('\n'),
    ablationText(verdict),
    tableText(rows),
    wrap(legend(verdict, rows, withStages), width).join('\n'),
    ...smallProtocol(context.plan).map((text) => wrap(text, width).join('\n')),
    ...rows.map((row) => rowText(row, withStages)),
    hasStages && !withStages ? wrap(disturbedStages, width).join('\n') : '',
    controlText(verdict),
    noteLines.flatMap((line) => wrap(plainText(line), width)).join('\n'),
    place.flatMap(({ label, text }) => labelled(plainText(label), plainText(text), indent, width)).join('\n'),
    `verify: ${plainText(verifyCommand(context))}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}
