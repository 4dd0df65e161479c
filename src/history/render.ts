/** The history for a terminal: 80 columns, no colour, nothing that could steer the terminal. */
import { counted } from '../counted.js';
import { short } from '../digest.js';
import { plantedText } from '../matrix/planted.js';
import { plainText } from '../report/escape.js';
import { labelled, wrap, wrapWhole } from '../report/wrap.js';
import { shellPath } from '../shell-word.js';
import { signedPercent } from '../verdict/percent.js';
import { verdictNames } from '../verdict/schema.js';
import type { GoodLine } from './run-line.js';
import type { Selection } from './select.js';
import { differingSettings, type Point, type Series, type Shift } from './series.js';

const width = 80;

/** At the top of every output: what a history is not. */
export const NOTICE = 'never used for gating: rates of different sessions are not compared';

/** What is told. */
interface History {
  selection: Selection;
  /** The cell that was asked for; null for all of them. */
  cell: string | null;
  /** Only of a cell that was asked for. */
  series: Series[] | null;
  /** The id that was asked for, or its beginning; null for all machines. */
  machine: string | null;
  /** Most rows of the table. */
  last: number;
  /** Folders of runs whose session goes on; the others that did not come to their end were left. */
  running: ReadonlySet<string>;
}

const blocks = '▁▂▃▄▅▆▇█';

/** Share of the highest value that the height of all blocks is at least: less than that is no change to look at. */
const leastSpan = 0.01;

/** One block a value, between the lowest and the highest of `range`; a blank for null. */
export function sparkline(values: readonly (number | null)[], range: readonly number[]): string {
  const [lowest, highest] = [Math.min(...range), Math.max(...range)];
  const span = Math.max(highest - lowest, leastSpan * highest);
  const low = (lowest + highest - span) / 2;
  return values
    .map((value) => {
      if (value === null) return ' ';
      const height = Math.floor(((value - low) / span) * blocks.length);
      return blocks[Math.max(0, Math.min(blocks.length - 1, height))] ?? '';
    })
    .join('');
}

const fit = (text: string, size: number): string => {
  const plain = plainText(text);
  return (plain.length > size ? `${plain.slice(0, size - 1)}…` : plain).padEnd(size);
};

/** The worst comparison of a run, or of one cell of it, by its verdict and then by its effect: `401/512 -2.31 %`. */
function worstOf({ cells }: GoodLine, asked: string | null): string {
  const looked = cells.filter(({ id }) => asked === null || id === asked);
  const all = looked.flatMap(({ id, compared }) => compared.map((one) => ({ id, ...one })));
  const [worst] = all.toSorted(
    (a, b) =>
      verdictNames.indexOf(b.verdict) - verdictNames.indexOf(a.verdict) ||
      (a.effect?.ratio ?? 1) - (b.effect?.ratio ?? 1),
  );
  if (worst === undefined) return '';
  const change = worst.effect === null ? worst.verdict : signedPercent(worst.effect.ratio);
  if (asked !== null) return change;
  return worst.effect === null ? worst.id : `${worst.id} ${change}`;
}

/** Lines under the row of a run that says nothing of a change. */
const marksOf = ({ simulated, plantedPercent }: GoodLine): string[] => [
  ...(simulated ? ['  SIMULATED: nothing was measured'] : []),
  ...(plantedPercent === null ? [] : [`  ${plantedText(plantedPercent)}: no qualification`]),
];

function table({ runs }: Selection, last: number, cell: string | null): string {
  if (runs.length === 0) return 'No run to tell of.';
  const sizes = [23, 18, 14, 19] as const;
  const row = (...texts: readonly string[]): string =>
    sizes
      .map((size, at) => fit(texts[at] ?? '', size))
      .join('  ')
      .trimEnd();
  const lines = runs
    .slice(0, last)
    .flatMap((run) => [row(run.session, run.matrix.name, run.result, worstOf(run, cell)), ...marksOf(run)]);
  const older = runs.length - last;
  return [
    row('session', 'matrix', 'result', cell ?? 'worst cell'),
    row(...sizes.map((size) => '─'.repeat(size))),
    ...lines,
    ...(older > 0 ? [`and ${older} older: --last ${runs.length}`] : []),
  ].join('\n');
}

function shiftText(what: string, shift: Shift): string {
  const { before, after, session, p } = shift;
  const changed = shift.changed.length === 0 ? '' : `; also changed there: ${shift.changed.join(', ')}`;
  return (
    `${what} ${after > before ? 'higher' : 'lower'} from ${session} on: ${before.toFixed(2)} -> ${after.toFixed(2)} tok/s ` +
    `(${signedPercent(after / before)}), ${shift.sessionsBefore} and ${shift.sessionsAfter} sessions, p = ${p.toPrecision(2)}${changed}`
  );
}

const shortest = 60;

function trend(label: string, rates: readonly (number | null)[], range: readonly number[]): string[] {
  const known = rates.filter((rate) => rate !== null);
  const [only] = known;
  if (only === undefined) return [];
  // Of one session there is no course to draw.
  if (known.length === 1) return [`  ${label.padEnd(6)}${only.toFixed(2)} tok/s in 1 session`];
  const text = `${Math.min(...known).toFixed(2)} to ${Math.max(...known).toFixed(2)} tok/s in ${counted(known.length, 'session')}`;
  return [`  ${label.padEnd(6)}${sparkline(rates.slice(-shortest), range)}`, `  ${''.padEnd(6)}${text}`];
}

function seriesText(series: Series, differing: readonly string[]): string {
  const { points, shifts, clock, baseBuild, baseCommit, machineId, model, matrices } = series;
  const rates = (of: (point: Point) => number | null): (number | null)[] => points.map(of);
  const [base, again] = [rates((point) => point.base), rates((point) => point.null)];
  const range = [...base, ...again].filter((rate) => rate !== null);
  const commit = baseCommit === null ? '' : ` (commit ${short(baseCommit)})`;
  const title = `${series.cell}: base build ${short(baseBuild)}${commit}, model ${short(model)}, machine ${short(machineId)}, ${[`${clock} time`, ...differing, ...matrices].join(', ')}`;
  const found = [
    ...(shifts.base ?? []).map((shift) => shiftText('base', shift)),
    ...(shifts.null ?? []).map((shift) => shiftText('null', shift)),
  ];
  const said =
    found.length > 0
      ? found
      : [
          shifts.base === null
            ? 'too few sessions to look for changes'
            : 'no change of level (E-divisive, 2 % false alarms)',
        ];
  return [
    ...wrap(plainText(title), width),
    ...trend('base', base, range),
    ...trend('null', again, range),
    ...said.flatMap((text) => labelled('  change', plainText(text), 10, width)),
  ].join('\n');
}

const BLOCKS_NOTICE = 'Each block is a session, oldest first. ';
const SERIES_NOTICE =
  'All of a series ran the same build on the same workload, model and machine: where its level changes, the machine changed, not a revision.';

/** Of blocks only where there are some: of one rate no course is drawn. */
function seriesNotice(series: readonly Series[]): string {
  const isDrawn = series.some(({ points }) =>
    [points.map(({ base }) => base), points.map((point) => point.null)].some(
      (rates) => rates.filter((rate) => rate !== null).length > 1,
    ),
  );
  return wrap(`${isDrawn ? BLOCKS_NOTICE : ''}${SERIES_NOTICE}`, width).join('\n');
}

/** The code of a run without a verdict. */
export const UNFINISHED = 'ERR_QUALIFY_RUN_UNFINISHED';

function notes({ selection: { bad, leftOut }, machine, running }: History): string[] {
  const told = [
    [leftOut.otherMachines, 'of other machines (--machine all)'],
    [leftOut.otherMatrices, 'of other matrices'],
    [leftOut.withoutCell, 'without this cell'],
    [leftOut.copies, 'twice, of which one is told'],
  ] as const;
  const left = told.flatMap(([count, what]) => (count === 0 ? [] : [`${counted(count, 'run')} ${what}`]));
  const whose = machine === null ? 'all machines' : `machine ${short(machine)}`;
  const unfinished = bad.filter(({ code }) => code === UNFINISHED);
  const invalid = bad.filter(({ code }) => code !== UNFINISHED);
  return [
    ...wrap(plainText([whose, ...left].join('; ')), width),
    ...unfinished.flatMap(({ folder }) =>
      wrapWhole(
        plainText(
          running.has(folder)
            ? `${folder} is still running.`
            : `${folder} did not come to its end. To go on: qualify resume ${shellPath(folder)}`,
        ),
        width,
      ),
    ),
    ...(invalid.length === 0
      ? []
      : [
          `${counted(invalid.length, 'run')} ${invalid.length === 1 ? 'does' : 'do'} not verify and ${invalid.length === 1 ? 'is' : 'are'} left out:`,
        ]),
    ...invalid.flatMap(({ folder, code, message }) => [
      ...wrap(`  ${plainText(folder)}`, width),
      ...wrap(`${plainText(message)} [${code}]`, width - 4).map((line) => `    ${line}`),
    ]),
  ];
}

/** The text, ending without a line feed. */
export function renderHistory(history: History): string {
  const { selection, series, cell, last } = history;
  const differing = differingSettings(series ?? []);
  const parts = [
    NOTICE,
    table(selection, last, cell),
    ...(series === null || series.length === 0 ? [] : [seriesNotice(series)]),
    ...(series ?? []).map((one, at) => seriesText(one, differing[at] ?? [])),
    notes(history).join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}
