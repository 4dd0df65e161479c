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

const promptRow = (grade: PromptGrade): string[] => [
  plainText(grade.prompt).slice(0, 23),
  `${grade.outputTokens}`,
  `${grade.distinctTokens}`,
  grade.entropyBits.toFixed(1),
  ...marks(grade.faults),
  grade.grade,
];

const cellRow = ({ cell, required, faults }: CellGrade): string[] => [
  `cell ${plainText(cell)}`.slice(0, 23),
  '',
  '',
  '',
  ...marks(faults),
  required ? '' : 'optional',
];

function tableText(rows: readonly string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, column) =>
        column >= 1 && column <= 3 ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
}

/** The table, what each fault is, and the findings. `seed` makes the same prompts again. */
export function describeOracle(oracle: OracleGrade, of: { name: string; seed: string }): string {
  const heading = ['prompt', 'out', 'ids', 'bits', ...plantedFaults.map((fault) => heads[fault]), 'grade'];
  const rows = oracle.cells.flatMap((cell) => [...cell.prompts.map(promptRow), cellRow(cell)]);
  const faults = plantedFaults.flatMap((fault) =>
    labelled(`  ${heads[fault]}`, `${fault}: ${faultMeanings[fault]}`, 10, WIDTH),
  );
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
        'parity compares; MISSED: it struck and parity would have held; -: it cannot strike.',
      WIDTH,
    ),
    ...faults,
    ...(reached.length + oracle.findings.length > 0 ? [''] : []),
    ...reached,
    ...oracle.findings.flatMap(({ message }) => wrap(plainText(message), WIDTH)),
    '',
    ...wrap(`seed ${of.seed}: --seed makes the same prompts again`, WIDTH),
  ].join('\n');
}
