/** `qualify calibrate`: how far verdicts can be believed. */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { QualifyError } from '../errors.js';
import { calibrateSimulated, type SimulatedFlags } from './calibrate-simulated.js';
import { wholeNumber } from './options.js';

interface CalibrateFlags extends SimulatedFlags {
  simulated: boolean;
}

const HELP = `
With --simulated no engine runs: thousands of matrices are made of random numbers whose
truth is known, decided by the rule of every session, and counted. Exit code 0 when the
rule keeps to its goals, 10 when it misses one. The same seed gives the same counts on
every machine, with any number of jobs. docs/method.md has the table.`;

async function calibrate(flags: CalibrateFlags): Promise<void> {
  if (flags.simulated) return calibrateSimulated(flags);
  throw new QualifyError('ERR_QUALIFY_USAGE', 'say what to calibrate by', {
    exit: 'usage',
    hint: 'qualify calibrate --simulated shows the error rates of the decision rule',
  });
}

export function register(program: Command): void {
  program
    .command('calibrate')
    .description('how far verdicts can be believed: error rates of the rule, noise of the machine')
    .option('--simulated', 'the error rates of the decision rule, in numbers alone', false)
    .addOption(
      new Option('--matrices <n>', 'simulated matrices of each scenario')
        .default(2000)
        .argParser(wholeNumber(1, 1_000_000)),
    )
    .option('--seed <text>', 'seed of the simulation', 'qualify')
    .addOption(
      new Option('--jobs <n>', 'threads').default(availableParallelism()).argParser(wholeNumber(1, 1024)),
    )
    .addOption(new Option('--json', 'every count as one JSON object').default(false))
    .addOption(new Option('--markdown', 'the tables as Markdown').default(false).conflicts('json'))
    .addHelpText('after', HELP)
    .action(calibrate);
}
