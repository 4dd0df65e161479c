/** `qualify history`: past runs of this machine, and what they say of the machine. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { counted } from '../counted.js';
import { QualifyError } from '../errors.js';
import { collectRuns } from '../history/collect.js';
import { HISTORY_FILE } from '../history/index-file.js';
import { NOTICE, renderHistory, UNFINISHED } from '../history/render.js';
import type { BadLine, RunLine } from '../history/run-line.js';
import { type Filter, selectRuns } from '../history/select.js';
import { seriesOf } from '../history/series.js';
import { fingerprint } from '../machine/fingerprint.js';
import { isFolderLocked } from '../machine/lock.js';
import { noRun } from '../manifest/run-state.js';
import { suggest } from '../suggest.js';
import { mayGate } from '../verdict/evidence-kind.js';
import { RUNS } from './find-run.js';
import { wholeNumber } from './options.js';
import { answer, answerJson, note, startProgress } from './output.js';

interface Flags {
  matrix?: string;
  cell?: string;
  machine?: string;
  runs?: string[];
  last: number;
  rebuild?: true;
  json?: true;
}

const MOST_ROWS = 100_000;
const ROWS = 20;

/** The id of a machine, as much of it as is needed, or `all`. */
function machineOption(text: string): string {
  if (text !== 'all' && !/^[0-9a-f]{6,64}$/.test(text))
    throw new InvalidArgumentError('Give 6 or more hex digits of an id, or "all".');
  return text;
}

/** @throws QualifyError `ERR_QUALIFY_CELL` (exit 64) when there are runs and none has the cell */
function requireCell(lines: readonly RunLine[], cell: string, filter: Omit<Filter, 'cell'>): void {
  const { runs } = selectRuns(lines, filter);
  const ids = [...new Set(runs.flatMap(({ cells }) => cells.map(({ id }) => id)))];
  if (runs.length === 0 || ids.includes(cell)) return;
  const near = suggest(cell, ids);
  throw new QualifyError('ERR_QUALIFY_CELL', `No run that is looked at has a cell "${cell}".`, {
    exit: 'usage',
    hint: `${near === undefined ? '' : `Did you mean "${near}"? `}Their cells: ${ids.join(', ')}`,
  });
}

/** Folders of runs without a verdict whose session goes on. */
async function runningOf(bad: readonly BadLine[], root: string): Promise<Set<string>> {
  const running = new Set<string>();
  for (const { folder, code } of bad)
    if (code === UNFINISHED && (await isFolderLocked(resolve(root, folder)))) running.add(folder);
  return running;
}

async function history(flags: Flags): Promise<void> {
  for (const folder of flags.runs ?? [])
    if (!existsSync(folder)) throw noRun(`there is no folder ${folder}`, folder);
  const progress = startProgress();
  const root = process.cwd();
  const collected = await collectRuns({
    root,
    indexPath: join(root, HISTORY_FILE),
    folders: [RUNS, ...(flags.runs ?? [])].map((folder) => resolve(root, folder)),
    rebuild: flags.rebuild === true,
    onProgress: (folder, done, total) =>
      progress.update(`checking ${folder} [${done}/${total}]`, done / total),
  });
  progress.end();
  if (collected.unreadable > 0)
    note(
      `${counted(collected.unreadable, 'line')} of ${HISTORY_FILE} could not be read; made again from the runs.`,
    );
  if (collected.notKept !== null)
    note(
      `The index ${HISTORY_FILE} cannot be written, so that all will be checked again: ${collected.notKept}`,
    );
  const machine = flags.machine === 'all' ? null : (flags.machine ?? fingerprint().id);
  const filter = { machine, matrix: flags.matrix };
  if (flags.cell !== undefined) requireCell(collected.lines, flags.cell, filter);
  const selection = selectRuns(collected.lines, { ...filter, cell: flags.cell });
  const running = await runningOf(selection.bad, root);
  const series = flags.cell === undefined ? null : seriesOf(selection.runs, flags.cell);
  if (flags.json !== true) {
    answer(
      renderHistory({ selection, cell: flags.cell ?? null, series, machine, last: flags.last, running }),
    );
    return;
  }
  answerJson({
    schemaVersion: 1,
    notice: NOTICE,
    evidence: 'directional',
    mayGate: mayGate('directional'),
    machine,
    runs: selection.runs,
    notVerified: selection.bad,
    running: [...running],
    leftOut: selection.leftOut,
    series,
  });
}

export function register(program: Command): void {
  program
    .command('history')
    .description('past runs on this machine, and where the level of the machine changed; gates nothing')
    .option('--matrix <name>', 'only runs of this matrix')
    .option(
      '--cell <id>',
      'only runs with this cell; shows its rates over time and where their level changed',
    )
    .option(
      '--machine <id>',
      'runs of another machine (6 or more digits of its id), or of "all"',
      machineOption,
    )
    .option('--runs <folder...>', `more folders of runs (${RUNS} is always looked at)`)
    .option('--last <n>', 'rows of the table', wholeNumber(1, MOST_ROWS), ROWS)
    .option('--rebuild', 'verify every run again, whatever the index has')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nA run that verifies is not verified again until it changes; what was found is` +
        `\nkept in ${HISTORY_FILE}, which can be deleted at any time. A run that` +
        '\ndoes not verify is named and left out, and looked at again the next time.' +
        '\n\nOnly rates of one build, workload, model and machine are set side by side:' +
        '\nwhere their level changes, the machine changed. To compare revisions, measure' +
        '\nthem in one session: qualify pr.',
    )
    .action(history);
}
