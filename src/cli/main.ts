/**
 * The command line: hands the arguments to one command and turns what it throws into an exit code. A command's action
 * sets `process.exitCode` where its answer is other than "done"; a bug of ours is rethrown.
 */
import { Command, CommanderError, Help } from 'commander';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { harnessVersion } from '../harness.js';
import { explainSystemError } from '../system-error.js';
import { describeError } from './describe-error.js';
import { forGitBisect } from './git-bisect.js';
import { bearLostOutput } from './lost-output.js';
import { refuseUnnamed } from './options.js';
import { note, printable } from './output.js';

/** What the help says of each command, and its module, which is loaded when the command is called. */
const COMMANDS: Record<
  string,
  { summary: string; load: () => Promise<{ register(program: Command): void }> }
> = {
  run: {
    summary: 'run a matrix: build, launch, measure, prove, decide and sign',
    load: () => import('./run.js'),
  },
  pr: {
    summary: 'qualify a change: build base and head from git and compare them',
    load: () => import('./pr.js'),
  },
  compare: {
    summary: 'compare revisions side by side; the first is what the others are compared against',
    load: () => import('./compare.js'),
  },
  switches: {
    summary: 'which switches matter: the effect of each, with intervals that hold together',
    load: () => import('./switches.js'),
  },
  resume: {
    summary: 'go on with a run that was killed, interrupted or broke: same plan, same order',
    load: () => import('./resume.js'),
  },
  simulate: {
    summary: 'run a session of a simulated engine with noise of your choice; measures nothing',
    load: () => import('./simulate.js'),
  },
  calibrate: {
    summary: 'how far verdicts can be believed: error rates of the rule, noise of the machine',
    load: () => import('./calibrate.js'),
  },
  challenge: {
    summary: 'issue a challenge: the question that a run must answer, for one change and matrix',
    load: () => import('./challenge.js'),
  },
  verify: {
    summary: 'check the signature of a run, every digest, and every number against the journal',
    load: () => import('./verify.js'),
  },
  pack: {
    summary: 'check a run and pack it into one file, the same bytes on any machine',
    load: () => import('./pack.js'),
  },
  unpack: {
    summary: 'unpack the archive of a run, if it holds: the archive may come from anybody',
    load: () => import('./unpack.js'),
  },
  gate: {
    summary: 'decide whether a change may be merged, by a policy and the signed runs that are there',
    load: () => import('./gate.js'),
  },
  waive: {
    summary: 'sign that one cell of one change may pass in spite of its result, until a date',
    load: () => import('./waive.js'),
  },
  report: {
    summary: 'check a finished run and print its report, the losing cell first',
    load: () => import('./report.js'),
  },
  bisect: {
    summary: 'find the commit that made a cell slower: git bisect, with a session as the judge',
    load: () => import('./bisect.js'),
  },
  history: {
    summary: 'past runs on this machine, and where the level of the machine changed; gates nothing',
    load: () => import('./history.js'),
  },
  plan: {
    summary: 'what a matrix would run, in what order, how long, how much disk; runs nothing',
    load: () => import('./plan.js'),
  },
  matrix: { summary: 'list, show and check matrices', load: () => import('./matrix.js') },
  oracle: {
    summary: 'grade the prompts of a matrix by planted faults: which would its outputs have shown?',
    load: () => import('./oracle.js'),
  },
  doctor: {
    summary:
      'look at tools, CPU, governor, load, swap, memory, disk, GPUs and calibration; each finding has a remedy',
    load: () => import('./doctor.js'),
  },
  model: { summary: 'models: make, quantise, look at, audit', load: () => import('./model.js') },
  engine: {
    summary: 'the embedded engine by itself: serve a model, write its logits',
    load: () => import('./engine.js'),
  },
  kernels: {
    summary: 'the kernels by themselves: parity with their references, and speed',
    load: () => import('./kernels.js'),
  },
  init: {
    summary: 'write a first matrix, policy, trust policy and workflows for this repository',
    load: () => import('./init.js'),
  },
  keys: {
    summary: 'make, list, replace and export the keys that sign runs, and say whom to trust',
    load: () => import('./keys.js'),
  },
  github: {
    summary: "write what GitHub shows of a gate's decision: summary, comment, check run, annotations",
    load: () => import('./github.js'),
  },
  completion: {
    summary: 'print a script that makes your shell complete commands, options, matrices and runs',
    load: () => import('./completion.js'),
  },
};

/** These speak of all commands: they need every other one in full. `complete` is what the script of `completion` calls. */
const ABOUT_ALL = new Set(['completion', 'complete']);

/** The command that a command line calls, or asks help for; the program itself has no options with values. */
function calledCommand(argv: readonly string[]): string | undefined {
  const [first, second] = argv.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
}

/** What a first look needs. */
const START = `
Begin with: qualify doctor, then qualify run smoke (the whole way in about a
minute, once the engine is built). qualify COMMAND --help says more of each.`;

/** The program with `called` in full and the summaries of the other commands; it throws instead of exiting. */
export async function createProgram(called: string | undefined): Promise<Command> {
  const all = called !== undefined && ABOUT_ALL.has(called);
  const program = new Command('qualify')
    .description(
      'Qualify performance changes of a native LLM engine: matched, cache-cold, parity-checked, signed.',
    )
    .version(harnessVersion)
    .configureOutput({ writeErr: (text) => note(printable(text)) })
    .showHelpAfterError('(--help shows how)')
    .configureHelp({ showGlobalOptions: true, subcommandTerm })
    .addHelpText('after', START)
    .hook('preAction', (_program, command) => refuseUnnamed(command));
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    if (all || name === called) (await load()).register(program);
    else program.command(name).description(summary);
  }
  for (const command of [program, ...allCommands(program)]) command.exitOverride();
  return program;
}

/** The program with every command in full, as completion and the manual page need it. */
export const createFullProgram = (): Promise<Command> => createProgram('completion');

/** Arguments are the business of a command's own help: the list of all commands is made without loading them. */
function subcommandTerm(command: Command): string {
  return command.parent?.parent ? new Help().subcommandTerm(command) : command.name();
}

function allCommands(parent: Command): Command[] {
  return parent.commands.flatMap((command) => [command, ...allCommands(command)]);
}

/** Runs one command line (without `node` and the script) and gives the exit code. */
export function main(argv: string[]): Promise<number> {
  bearLostOutput();
  return forGitBisect(argv, () => run(argv), console.error);
}

async function run(argv: string[]): Promise<number> {
  const program = await createProgram(calledCommand(argv));
  if (argv.length === 0) {
    program.outputHelp({ error: true });
    return EXIT.usage;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? EXIT.pass);
  } catch (thrown) {
    const error = explainSystemError(thrown);
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.pass : EXIT.usage;
    if (!(error instanceof QualifyError)) throw error;
    note(describeError(error));
    return error.exitCode;
  }
}
