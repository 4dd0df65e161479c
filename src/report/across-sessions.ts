/** Two sessions side by side, for a terminal of 80 columns: directions, and why they are no more than that. */
import type { AcrossSessions, ArmAcross, FieldAcross } from '../analysis/across-sessions.js';
import { plainText } from './escape.js';
import { labelled, wrap } from './wrap.js';

const width = 80;
const indent = 4;

const values = (list: readonly (string | null)[]): string =>
  list.map((value) => (value === null ? 'unset or unknown' : value === '' ? 'empty' : value)).join(', ') ||
  'not recorded';

function armLine({ arm, direction, why, match }: ArmAcross, labelWidth: number): string[] {
  const text = direction === null ? `not said: ${why}` : `${direction} in the second session`;
  return labelled(`  ${arm}`, plainText(`${text} (${match})`), labelWidth, width);
}

/** What is true of all arms is told of none by name. */
function fieldLines({ word, field, arms, first, second }: FieldAcross, all: number): string[] {
  const whose = arms.length === all ? '' : `, ${arms.length === 1 ? 'arm' : 'arms'} ${arms.join(', ')}`;
  const told = [
    ...wrap(plainText(`${word} (${field})${whose}`), width - 2).map((line) => `  ${line}`),
    ...labelled(`${' '.repeat(indent)}first`, plainText(values(first)), indent + 8, width),
    ...labelled(`${' '.repeat(indent)}second`, plainText(values(second)), indent + 8, width),
  ];
  return told;
}

/** The text, ending without a line feed. `runs` are the two as the user named them. */
export function renderAcrossSessions(across: AcrossSessions, runs: readonly [string, string]): string {
  const labelWidth = Math.max(...across.arms.map(({ arm }) => arm.length), 8) + 4;
  const sessions = (['first', 'second'] as const).flatMap((name, index) =>
    labelled(name, plainText(`${across.sessions[index]}, in ${runs[index]}`), 8, width),
  );
  const cells = across.cells.flatMap(({ cell, arms }) => [
    plainText(cell),
    ...arms.flatMap((arm) => armLine(arm, labelWidth)),
  ]);
  const only = across.onlyIn.flatMap((ids, index) =>
    ids.length === 0
      ? []
      : wrap(plainText(`only in the ${index === 0 ? 'first' : 'second'}: ${ids.join(', ')}`), width),
  );
  const builds = across.arms.flatMap(({ arm, sameBinary }) => {
    const text =
      sameBinary === null ? 'binary not recorded' : sameBinary ? 'one binary in both' : 'another binary';
    return labelled(`  ${arm}`, text, labelWidth, width);
  });
  const differences =
    across.differences.length === 0
      ? wrap(
          'No condition that should be equal differs, yet two sessions are two states of a machine.',
          width,
        )
      : [
          'Conditions that should be equal and are not',
          ...across.differences.flatMap((field) => fieldLines(field, across.arms.length)),
        ];
  const parts = [
    wrap(
      'unmatched: two sessions, so that directions are all that can be said. Machines move more between sessions than most changes do.',
      width,
    ),
    sessions,
    cells.length === 0 ? ['The sessions share no cell.'] : cells,
    only,
    across.arms.length === 0 ? ['The sessions share no arm.'] : ['Builds', ...builds],
    differences,
    wrap('To know how much: measure both in one session, with `qualify compare REVISION REVISION`.', width),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}
