/** `qualify matrix list|show|lint`: the matrices there are, and whether one of yours can be planned. */

import type { Command } from 'commander';
import { stringify } from 'yaml';
import { counted } from '../counted.js';
import { builtInNames } from '../matrix/built-in.js';
import { cellId } from '../matrix/cell-id.js';
import { loadMatrix } from '../matrix/load.js';
import { switchWarnings } from '../matrix/switch-names.js';
import { labelled } from '../report/wrap.js';
import { answer, answerJson, note } from './output.js';

function list(flags: { json?: true }): void {
  const rows = builtInNames().map((name) => {
    const { matrix, digest } = loadMatrix(name);
    return {
      name,
      title: matrix.title,
      cells: matrix.cells.map(cellId),
      arms: Object.keys(matrix.arms),
      parity: matrix.protocol.parity,
      digest,
    };
  });
  if (flags.json) {
    answerJson(rows);
    return;
  }
  const width = Math.max(...rows.map((row) => row.name.length));
  const lines = rows.flatMap((row) => {
    const parity = row.parity === 'exact' ? '' : `; parity ${row.parity}`;
    const facts = `${row.title} (${row.cells.join(', ')}; ${row.arms.join(', ')}${parity})`;
    return labelled(row.name, facts, width + 2, 80);
  });
  answer(lines.join('\n'));
}

function show(name: string, flags: { resolved?: true; json?: true }): void {
  const { matrix, digest, text } = loadMatrix(name);
  if (flags.json) answerJson({ digest, matrix });
  else answer(flags.resolved ? stringify(matrix) : text);
}

function lint(names: string[]): void {
  for (const name of names) {
    const { matrix, digest, source } = loadMatrix(name);
    answer(
      `${source}: fine, ${counted(matrix.cells.length, 'cell')}, ${counted(Object.keys(matrix.arms).length, 'arm')}, sha256 ${digest}`,
    );
    for (const warning of switchWarnings(matrix.arms, matrix.design)) note(`${source}: warning: ${warning}`);
  }
}

export function register(program: Command): void {
  const matrix = program.command('matrix').description('list, show and check matrices');
  matrix.command('list').description('the built-in matrices').option('--json', 'as JSON').action(list);
  matrix
    .command('show')
    .description('print a matrix as it is written')
    .argument('<matrix>', 'a built-in matrix or a YAML file')
    .option('--resolved', 'with every default filled in')
    .option('--json', 'as JSON, with defaults and digest')
    .action(show);
  matrix
    .command('lint')
    .description('check matrices; every problem with its line (exit 64)')
    .argument('<matrix...>', 'built-in matrices or YAML files')
    .action(lint);
}
