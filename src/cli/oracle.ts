/** `qualify oracle`: would the prompts of a matrix show that an engine is wrong? */
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { EXIT } from '../exit-codes.js';
import { narrow } from '../matrix/narrow.js';
import { buildPlan } from '../plan/build.js';
import { seedOf } from '../plan/seed.js';
import { describeOracle } from '../report/oracle.js';
import { runOracle } from '../session/oracle.js';
import { promptsOfFile, promptsOfPlan } from '../session/oracle-prompts.js';
import { interruptSignal } from './interrupt.js';
import { cellOption } from './options.js';
import { answer, answerJson, note, startProgress } from './output.js';
import { loadRealMatrix } from './real-matrix.js';

interface OracleFlags {
  prompts?: string;
  all?: true;
  seed?: string;
  cell?: string[];
  wait?: true;
  json?: true;
}

async function grade(name: string, flags: OracleFlags): Promise<void> {
  const { matrix, leftOut } = narrow(loadRealMatrix(name), flags.cell);
  const seed = flags.seed ?? randomBytes(32).toString('hex');
  const plan = buildPlan(matrix, { session: 'oracle-only', leftOut, seed: seedOf(seed) });
  const cells =
    flags.prompts === undefined
      ? promptsOfPlan(plan, flags.all === true)
      : promptsOfFile(plan, flags.prompts);
  const line = startProgress();
  const progress = {
    update: (text: string, share: number | null) => line.update(text, share),
    note: (text: string) => line.end(text),
  };
  try {
    const graded = await runOracle({
      plan,
      cells,
      wait: flags.wait === true,
      progress,
      signal: interruptSignal(),
    });
    line.end();
    const blind = graded.findings.length > 0 || graded.grade === 'vacuous';
    const exitCode = blind ? EXIT.parity : EXIT.pass;
    if (flags.json) answerJson({ schemaVersion: 1, exitCode, matrix: matrix.name, seed, ...graded });
    else answer(describeOracle(graded, { name: matrix.name, seed }));
    if (leftOut.length > 0) note(`Not graded: ${leftOut.join(', ')}`);
    process.exitCode = exitCode;
  } finally {
    line.end();
  }
}

const HELP = `
Parity is worth what its outputs would have shown. Each prompt is run on the
embedded engine, healthy and with each of five planted faults, and compared as
the matrix compares arms. Exit code 0 when each required cell catches every
fault that strikes it; 13 when one is missed or the outputs prove nothing: then
take longer prompts, more generated tokens, or parity exact. At parity bounded
the matrix's other arms run healthy as well, where they are of the reference's
revision: what of the limits they take, and by how much each fault is beyond
them, is told for each cell.

  qualify oracle smoke
  qualify oracle prefill-short --all --seed mine
  qualify oracle my-matrix.yaml --prompts prompts.json`;

export function register(program: Command): void {
  program
    .command('oracle')
    .description('grade the prompts of a matrix by planted faults: which would its outputs have shown?')
    .argument('<matrix>', 'a built-in matrix (qualify matrix list) or a YAML file')
    .addOption(cellOption())
    .option('--all', 'every sample of a cell beside its parity prompt, not only the first')
    .option(
      '--prompts <file>',
      "grade these instead, on the matrix's model: a JSON array of texts and of arrays of ids, or a text a line",
    )
    .option('--seed <text>', 'seed of the prompts (default: drawn at random, as in a run)')
    .option('--wait', 'wait for the machine when another session measures on it')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(grade);
}
