/** `qualify oracle` as people read it: prompts and the faults that each shows, the grades, and what is missing. 80 columns. */
import type { CellGrade, FaultOutcome, FaultOutcomes, OracleGrade, PromptGrade } from '../analysis/oracle.js';
import { faultMeanings, type PlantedFault, plantedFaults } from '../plan/planted-faults.js';
import { plainText } from './escape.js';
import { labelled, wrap } from './wrap.js';

const WIDTH = 80;

const heads: Readonly<Record<PlantedFault, string>> = {
  'dropped-route': 'route',
  'dropped-window-key': 'window',
  'dropped-topk-entry': 'top-k',
  'half-context': 'half',
  'expert-scale': 'scale',
};

const words: Readonly<Record<FaultOutcome, string>> = {
  caught: 'caught',
  missed: 'MISSED',
  'cannot-strike': '-',
};

const marks = (faults: FaultOutcomes): string[] => plantedFaults.map((fault) => words[faults[fault]]);

/** With the other columns, 80. */
const NAME_WIDTH = 13;

/** A prompt under its cell: `401/512#parity-0` as `parity-0`. */
const promptRow = (cell: string, grade: PromptGrade): string[] => [
  `  ${plainText(grade.prompt.replace(`${cell}#`, ''))}`.slice(0, NAME_WIDTH),
  `${grade.outputTokens}`,
  `${grade.distinctTokens}`,
  grade.entropyBits.toFixed(1),
  ...marks(grade.faults),
  grade.grade,
];

/** A name that is too long for its column has a line of its own, before the marks. */
function cellRows({ cell, required, faults, grade }: CellGrade): string[][] {
  const name = plainText(cell);
  const fits = name.length <= NAME_WIDTH;
  const row = [fits ? name : '', '', '', '', ...marks(faults), required ? grade : `(${grade})`];
  return fits ? [row] : [[name], row];
}

function tableText(rows: readonly string[][]): string[] {
  const whole = rows.filter((row) => row.length > 1);
  const widths = (whole[0] ?? []).map((_, column) =>
    Math.max(...whole.map((row) => row[column]?.length ?? 0)),
  );
  const padded = (text: string, column: number): string =>
    column >= 1 && column <= 3 ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
  return rows.map((row) => (row.length === 1 ? row : row.map(padded)).join('  ').trimEnd());
}

/** Of each cell at level bounded, how far healthy arms and faults are, in limits: `0.00018`, `4.2`. */
function roomLines(cells: readonly CellGrade[]): string[] {
  const times = (value: number | null): string =>
    value === null ? 'no end' : String(Number(value.toPrecision(2)));
  return cells.flatMap(({ cell, room }) => {
    if (room === undefined) return [];
    const arms = Object.entries(room.arms).map(([name, value]) => `${plainText(name)} ${times(value)}`);
    const faults = plantedFaults.map((fault) => `${heads[fault]} ${times(room.faults[fault])}`);
    const text = [
      ...(arms.length > 0 ? [`healthy: ${arms.join(', ')}`] : []),
      `faults: ${faults.join(', ')}`,
    ];
    return labelled(`  ${plainText(cell)}`, text.join('; '), NAME_WIDTH + 2, WIDTH);
  });
}

function notRunLines(arms: readonly string[]): string[] {
  if (arms.length === 0) return [];
  const text = `Not run: ${arms.join(', ')}. All launches are of one build, and these are of another revision than the reference: whether they keep the limits, a session shows.`;
  return ['', ...wrap(plainText(text), WIDTH)];
}

/** The table, what each fault is, and the findings. `seed` makes the same prompts again; arms that are `notRun` are named. */
export function describeOracle(
  oracle: OracleGrade & { notRun: readonly string[] },
  of: { name: string; seed: string },
): string {
  const heading = [
    'cell, prompt',
    'out',
    'ids',
    'bits',
    ...plantedFaults.map((fault) => heads[fault]),
    'grade',
  ];
  const rows = oracle.cells.flatMap((cell) => [
    ...cellRows(cell),
    ...cell.prompts.map((prompt) => promptRow(cell.cell, prompt)),
  ]);
  const faults = plantedFaults.flatMap((fault) =>
    labelled(`  ${heads[fault]}`, `${fault}: ${faultMeanings[fault]}`, 10, WIDTH),
  );
  const room = roomLines(oracle.cells);
  const reached = oracle.outOfReach.map((fault) =>
    wrap(
      `Fault ${fault} strikes no prompt here: it is neither caught nor missed. Longer prompts reach it.`,
      WIDTH,
    ).join('\n'),
  );
  return [
    `${plainText(of.name)}: ${oracle.grade} at parity ${oracle.level}`,
    '',
    ...tableText([heading, ...rows]),
    '',
    ...wrap(
      'out: tokens of the output; ids: different ones; bits: entropy a token. caught: the fault changes what ' +
        'parity compares; MISSED: it struck and parity would have held; -: it cannot strike. ' +
        'A grade in brackets is of a cell that is not required.',
      WIDTH,
    ),
    ...faults,
    ...(room.length === 0 ? [] : ['', 'Distance in limits; beyond 1 parity fails:', ...room]),
    ...notRunLines(oracle.notRun),
    ...(reached.length + oracle.findings.length > 0 ? [''] : []),
    ...reached,
    ...oracle.findings.flatMap(({ message }) => wrap(plainText(message), WIDTH)),
    '',
    ...wrap(`seed ${plainText(of.seed)}: --seed makes the same prompts again`, WIDTH),
  ].join('\n');
}
