/** `qualify calibrate --simulated`: error rates of the decision rule over simulated matrices. Measures nothing. */
import { availableParallelism } from 'node:os';
import { type Command, Option } from 'commander';
import { EXIT } from '../exit-codes.js';
import { type Calibration, describeErrorRates, errorRatesMarkdown } from '../report/error-rates.js';
import { simulateMany } from '../session/simulate-many.js';
import { type Goal, goalsOf, meanRounds } from '../simulation/goals.js';
import { cellCount, outcomes, shareOf } from '../simulation/tally.js';
import { interruptSignal } from './interrupt.js';
import { wholeNumber } from './options.js';
import { answer, answerJson, startProgress } from './output.js';

export interface SimulatedFlags {
  simulated: boolean;
  matrices: number;
  jobs: number;
  markdown: boolean;
  seed?: string;
  json?: true;
}

/** The seed of the documented table. */
const DEFAULT_SEED = 'qualify';

const HELP = `
With --simulated no engine runs: thousands of matrices are made of random
numbers whose truth is known, decided by the rule of every session, and counted.
Exit code 0 when the rule keeps to its goals, 10 when it misses one, 11 when so
few matrices cannot tell. The same seed (default: "${DEFAULT_SEED}") gives the same
counts on every machine, with any number of jobs. docs/error-rates.md explains
the tables.

  qualify calibrate --simulated                   about 3 minutes of CPU time
  qualify calibrate --simulated --matrices 20000  closer intervals`;

/** The options of a simulated calibration. */
export const simulatedOptions = (command: Command): Command =>
  command
    .option('--simulated', 'the error rates of the decision rule, in numbers alone', false)
    .addOption(
      new Option('--matrices <n>', 'with --simulated: matrices of each scenario')
        .default(2000)
        .argParser(wholeNumber(1, 1_000_000)),
    )
    .addOption(
      new Option('--jobs <n>', 'with --simulated: threads')
        .default(availableParallelism(), 'all CPUs')
        .argParser(wholeNumber(1, 1024)),
    )
    .addOption(
      new Option('--markdown', 'with --simulated: the tables as Markdown').default(false).conflicts('json'),
    )
    .addHelpText('after', HELP);

function asJson({ seed, matrices, simulated }: Calibration, exitCode: number): object {
  return {
    schemaVersion: 1,
    simulated: true,
    exitCode,
    seed,
    matrices,
    goals: goalsOf(simulated),
    scenarios: simulated.map(({ scenario, tally }) => ({
      ...scenario,
      cells: Object.fromEntries(
        outcomes.map((outcome) => [outcome, shareOf(tally.cells[outcome], cellCount(tally))]),
      ),
      meanRounds: meanRounds(tally),
      matricesPassed: shareOf(tally.matricesPassed, tally.matrices),
    })),
  };
}

const exitCodeOf = (goals: readonly Goal[]): number =>
  goals.some(({ holds }) => holds === false)
    ? EXIT.overBudget
    : goals.every(({ holds }) => holds)
      ? EXIT.pass
      : EXIT.inconclusive;

/** Simulates, prints, and sets the exit code: 10 when a goal is missed, 11 when so few matrices cannot tell. */
export async function calibrateSimulated(flags: SimulatedFlags): Promise<void> {
  const { matrices, jobs, seed = DEFAULT_SEED } = flags;
  const progress = startProgress();
  try {
    const simulated = await simulateMany({
      seed,
      matrices,
      jobs,
      signal: interruptSignal(),
      onProgress: (done, of) => progress.update(`simulated ${done} of ${of} batches of matrices`, done / of),
    });
    progress.end();
    const calibration = { seed, matrices, simulated };
    const exitCode = exitCodeOf(goalsOf(simulated));
    if (flags.json === true) answerJson(asJson(calibration, exitCode));
    else answer(flags.markdown ? errorRatesMarkdown(calibration) : describeErrorRates(calibration));
    process.exitCode = exitCode;
  } finally {
    progress.end();
  }
}
