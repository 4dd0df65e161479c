/** Error rates of the decision rule, as simulated: tables for the terminal (80 columns) and for Markdown. */
import { markdownTable } from 'markdown-table';
import { beyondGoals, type Goal, goalsOf, meanRounds, type Simulated } from '../simulation/goals.js';
import { UNDISTURBED } from '../simulation/scenario.js';
import { cellCount, outcomes, type Share, shareOf } from '../simulation/tally.js';
import { wrap } from './wrap.js';

/** What was run; enough to run it again. */
export interface Calibration {
  seed: string;
  matrices: number;
  simulated: readonly Simulated[];
}

/** A figure, and under it its interval. */
type Figure = readonly [figure: string, interval: string];

interface Table {
  title: string;
  heads: Figure[];
  rows: Figure[][];
}

const width = 80;

/** Percent with the digits that tell something; what is not all is not called 100, nor what is not nothing 0. */
function percent(share: number): string {
  const value = 100 * share;
  if (share === 0 || share === 1) return String(value);
  if (value < 0.005) return value.toPrecision(1);
  return value > 99 ? Math.min(value, 99.99).toFixed(2) : value.toFixed(value < 9.995 ? 2 : 1);
}

const figure = ({ share, lower, upper }: Share): Figure => [
  percent(share),
  `${percent(lower)}-${percent(upper)}`,
];

function noiseTable(interval: string, all: readonly Simulated[]): Table {
  const rows = all.map(({ scenario, tally }): Figure[] => [
    [`${scenario.cvPercent} %, ${scenario.effectPercent} %`, ''],
    ...outcomes.map((outcome) => figure(shareOf(tally.cells[outcome], cellCount(tally)))),
    [meanRounds(tally).toFixed(2), ''],
  ]);
  const words = ['pass', 'beyond', 'slower', 'inconcl.', 'refused'];
  return {
    title: `Noise alone, ${interval}: percent of cells by noise (CV) and true effect`,
    heads: [['CV, true', ''], ...words.map((word): Figure => [word, '']), ['rounds', '']],
    rows,
  };
}

/** One line for a disturbance and noise: what matters of the effects 0, -2 % (the margin) and -3 %. */
function disturbanceTable(interval: string, all: readonly Simulated[]): Table {
  const unchanged = all.filter(({ scenario }) => scenario.effectPercent === 0);
  const rows = unchanged.map(({ scenario, tally }): Figure[] => {
    const passed = (effectPercent: number): Figure => {
      const found = all.find(
        ({ scenario: { disturbance, cvPercent, effectPercent: effect } }) =>
          effect === effectPercent &&
          disturbance === scenario.disturbance &&
          cvPercent === scenario.cvPercent,
      );
      return found === undefined
        ? ['-', '']
        : figure(shareOf(found.tally.cells.pass, cellCount(found.tally)));
    };
    return [
      [scenario.disturbance, `CV ${scenario.cvPercent} %`],
      figure(shareOf(tally.matricesPassed, tally.matrices)),
      figure(shareOf(tally.cells.beyond + tally.cells.slower, cellCount(tally))),
      figure(shareOf(tally.cells.refused, cellCount(tally))),
      passed(-2),
      passed(-3),
      [meanRounds(tally).toFixed(2), ''],
    ];
  });
  return {
    title: `Disturbances, ${interval}: percent of matrices and cells; rounds of unchanged cells`,
    heads: [
      ['disturbance', ''],
      ['unchanged', 'all 8 pass'],
      ['unchanged', 'cells fail'],
      ['unchanged', 'refused'],
      ['true -2 %', 'pass'],
      ['true -3 %', 'pass'],
      ['rounds', ''],
    ],
    rows,
  };
}

function tablesOf({ simulated }: Calibration): Table[] {
  return (['t', 'walsh'] as const).flatMap((interval) => {
    const own = simulated.filter(({ scenario }) => scenario.interval === interval);
    if (own.length === 0) return [];
    const isAlone = ({ scenario }: Simulated): boolean => scenario.disturbance === UNDISTURBED;
    const name = interval === 't' ? 't interval' : 'Walsh interval';
    return [
      noiseTable(name, own.filter(isAlone)),
      disturbanceTable(
        name,
        own.filter((one) => !isAlone(one)),
      ),
    ];
  });
}

function textTable({ title, heads, rows }: Table): string {
  const columns = heads.map((_, at) =>
    Math.max(...[heads, ...rows].flatMap((row) => row[at]?.map(sized) ?? [])),
  );
  const line = (row: readonly Figure[], half: 0 | 1): string =>
    row
      .map((cell, at) =>
        at === 0 ? cell[half].padEnd(columns[at] ?? 0) : cell[half].padStart(columns[at] ?? 0),
      )
      .join(' ')
      .trimEnd();
  const lines = [heads, ...rows].flatMap((row) => [line(row, 0), line(row, 1)]).filter((text) => text !== '');
  return [...wrap(title, width), ...lines].join('\n');
}

const sized = (text: string): number => text.length;

function markdown({ title, heads, rows }: Table): string {
  const cell = ([one, two]: Figure): string =>
    two === '' ? one : /^\d/.test(two) ? `${one} (${two.replace('-', '–')})` : `${one}, ${two}`;
  const table = markdownTable(
    [heads, ...rows].map((row) => row.map(cell)),
    {
      align: ['l', ...heads.slice(1).map(() => 'r' as const)],
    },
  );
  return `**${title}**\n\n${table}`;
}

function madeOf({ seed, matrices, simulated }: Calibration): string {
  const cells = simulated[0] === undefined ? 0 : cellCount(simulated[0].tally);
  return `${matrices} simulated matrices (${cells} cells) a scenario, seed "${seed}", budget 2 %, by the rule and limits of this version. Intervals are 95 % (Wilson).`;
}

/** Whether a goal is kept, in a word of three letters at most. */
const answerOf = ({ holds }: Goal): string => (holds === null ? '?' : holds ? 'yes' : 'NO');

const goalLine = (one: Goal): string =>
  `${answerOf(one).padEnd(3)}  ${one.goal}. Worst: ${one.found}, ${one.worst}`;

/** What `?` means, where there is one. */
const untold = (goals: readonly Goal[]): string[] =>
  goals.some(({ holds }) => holds === null)
    ? ['"?": cannot tell with so few matrices, since the interval holds the goal: --matrices N']
    : [];

/** Tables, then the goals with yes, no or what cannot be told, 80 columns wide. */
export function describeErrorRates(calibration: Calibration): string {
  const goals = goalsOf(calibration.simulated);
  const hanging = (text: string): string => wrap(text, width - 5).join('\n     ');
  return [
    'SIMULATED: error rates of the decision rule, no measurement of this machine',
    wrap(madeOf(calibration), width).join('\n'),
    ...tablesOf(calibration).map(textTable),
    ['Goals', ...[...goals.map(goalLine), ...untold(goals)].map(hanging)].join('\n'),
    ['Beyond the goals', ...beyondGoals(calibration.simulated).map((text) => `     ${hanging(text)}`)].join(
      '\n',
    ),
  ].join('\n\n');
}

/** The same as Markdown. */
export function errorRatesMarkdown(calibration: Calibration): string {
  const goals = goalsOf(calibration.simulated);
  const rows = goals.map((one) => [one.goal, answerOf(one), one.found, one.worst]);
  return [
    madeOf(calibration),
    ...tablesOf(calibration).map(markdown),
    markdownTable([['Goal', 'Holds', 'Worst figure', 'Where'], ...rows]),
    ...untold(goals),
    ...beyondGoals(calibration.simulated).map((text) => `- ${text}`),
  ].join('\n\n');
}
