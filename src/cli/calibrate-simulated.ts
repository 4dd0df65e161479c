/** `qualify calibrate --simulated`: error rates of the decision rule over simulated matrices. Measures nothing. */
import { EXIT } from '../exit-codes.js';
import { type Calibration, describeErrorRates, errorRatesMarkdown } from '../report/error-rates.js';
import { simulateMany } from '../session/simulate-many.js';
import { goalsOf, meanRounds } from '../simulation/goals.js';
import { cellCount, outcomes, shareOf } from '../simulation/tally.js';
import { interruptSignal } from './interrupt.js';
import { answer, answerJson, startProgress } from './output.js';

export interface SimulatedFlags {
  matrices: number;
  seed: string;
  jobs: number;
  json: boolean;
  markdown: boolean;
}

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

/** Simulates, prints, and sets the exit code: 10 when a goal is missed. */
export async function calibrateSimulated(flags: SimulatedFlags): Promise<void> {
  const progress = startProgress();
  try {
    const simulated = await simulateMany({
      seed: flags.seed,
      matrices: flags.matrices,
      jobs: flags.jobs,
      signal: interruptSignal(),
      onProgress: (done, of) => progress.update(`simulated ${done} of ${of} batches of matrices`, done / of),
    });
    progress.end();
    const calibration = { seed: flags.seed, matrices: flags.matrices, simulated };
    const exitCode = goalsOf(simulated).every(({ holds }) => holds) ? EXIT.pass : EXIT.overBudget;
    if (flags.json) answerJson(asJson(calibration, exitCode));
    else answer(flags.markdown ? errorRatesMarkdown(calibration) : describeErrorRates(calibration));
    process.exitCode = exitCode;
  } finally {
    progress.end();
  }
}
