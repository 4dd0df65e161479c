/** `qualify calibrate`: how far verdicts can be believed. */
import type { Command } from 'commander';
import { QualifyError } from '../errors.js';
import { calibrateSimulated, type SimulatedFlags, simulatedOptions } from './calibrate-simulated.js';

async function calibrate(flags: SimulatedFlags): Promise<void> {
  if (flags.simulated) return calibrateSimulated(flags);
  throw new QualifyError('ERR_QUALIFY_USAGE', 'say what to calibrate by', {
    exit: 'usage',
    hint: 'qualify calibrate --simulated shows the error rates of the decision rule',
  });
}

export function register(program: Command): void {
  simulatedOptions(
    program
      .command('calibrate')
      .description('how far verdicts can be believed: error rates of the rule, noise of the machine')
      .option('--seed <text>', 'seed of what is drawn')
      .option('--json', 'answer with one JSON object'),
  ).action(calibrate);
}
