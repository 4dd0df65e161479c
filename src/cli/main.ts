/**
 * The command line: hands the arguments to one command and turns what it throws into an exit code. A command's action
 * sets `process.exitCode` where its answer is other than "done"; what nobody foresaw is rethrown.
 */
import { Command, CommanderError } from 'commander';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { harnessVersion } from '../harness.js';
import * as compare from './compare.js';
import { describeError } from './describe-error.js';
import * as doctor from './doctor.js';
import * as engine from './engine.js';
import * as keys from './keys.js';
import * as matrix from './matrix.js';
import * as model from './model.js';
import { note, tolerateClosedPipes } from './output.js';
import * as plan from './plan.js';
import * as pr from './pr.js';
import * as report from './report.js';
import * as run from './run.js';
import * as verify from './verify.js';

const COMMANDS = [run, pr, compare, verify, report, plan, matrix, doctor, model, engine, keys];

/** The program with all its commands; it throws instead of exiting. */
export function createProgram(): Command {
  const program = new Command('qualify')
    .description(
      'Qualify performance changes of a native LLM engine: matched, cache-cold, parity-checked, signed.',
    )
    .version(harnessVersion)
    .showHelpAfterError('(--help shows how)')
    .configureHelp({ showGlobalOptions: true });
  for (const command of COMMANDS) command.register(program);
  for (const command of [program, ...allCommands(program)]) command.exitOverride();
  return program;
}

function allCommands(parent: Command): Command[] {
  return parent.commands.flatMap((command) => [command, ...allCommands(command)]);
}

/** Runs one command line (without `node` and the script) and gives the exit code. */
export async function main(argv: string[]): Promise<number> {
  tolerateClosedPipes();
  const program = createProgram();
  if (argv.length === 0) {
    program.outputHelp({ error: true });
    return EXIT.usage;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? EXIT.pass);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.pass : EXIT.usage;
    if (!(error instanceof QualifyError)) throw error;
    note(describeError(error));
    return error.exitCode;
  }
}
