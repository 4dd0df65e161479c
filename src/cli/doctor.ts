/** `qualify doctor`: is this machine fit to measure on? */
import type { Command } from 'commander';
import { EXIT } from '../exit-codes.js';
import { examine, type Finding } from '../machine/doctor.js';
import { answer, answerJson, printable, styled } from './output.js';

/** Of the names of checks. */
const WIDEST = 'calibration'.length;

const STYLES = { ok: 'green', info: 'dim', warn: 'yellow', bad: 'red' } as const;

export function register(program: Command): void {
  program
    .command('doctor')
    .description(
      'look at tools, CPU, governor, load, swap, memory, disk, GPUs and calibration; each finding has a remedy',
    )
    .option('--json', 'print JSON')
    .action(async (options: { json?: true }) => {
      const findings = await examine();
      if (options.json) answerJson({ schemaVersion: 1, findings });
      else answer(findings.map(line).join('\n'));
      if (findings.some(({ status }) => status === 'bad')) process.exitCode = EXIT.infrastructure;
    });
}

function line({ check, status, found, remedy }: Finding): string {
  const first = `${styled(STYLES[status], status.padEnd(4))}  ${check.padEnd(WIDEST)}  ${printable(found)}`;
  return remedy === null ? first : `${first}\n${' '.repeat(8 + WIDEST)}${remedy}`;
}
