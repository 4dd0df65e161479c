/** `qualify calibrate`: how far verdicts can be believed. */
import type { Command } from 'commander';
import { QualifyError } from '../errors.js';
import { calibrateMachine, type MachineFlags, machineOptions } from './calibrate-machine.js';
import { calibrateSimulated, type SimulatedFlags, simulatedOptions } from './calibrate-simulated.js';

type Flags = MachineFlags & SimulatedFlags;

/** Options that mean nothing where sessions are run, and where none is. */
const OF_NUMBERS = ['matrices', 'jobs', 'markdown'] as const satisfies readonly (keyof SimulatedFlags)[];
const OF_SESSIONS = [
  ...(['matrix', 'cell', 'sessions', 'rounds', 'clock', 'plantSlowdown', 'margin', 'wait'] as const),
] satisfies readonly (keyof MachineFlags)[];

export function register(program: Command): void {
  const command = program
    .command('calibrate')
    .description('how far verdicts can be believed: error rates of the rule, noise of the machine');
  simulatedOptions(machineOptions(command)).action((flags: Flags) => {
    refuseIdle(command, flags.simulated);
    return flags.simulated ? calibrateSimulated(flags) : calibrateMachine(flags);
  });
}

/** @throws QualifyError `ERR_QUALIFY_USAGE` (exit 64) for an option that was given and would change nothing */
function refuseIdle(command: Command, simulated: boolean): void {
  const idle: readonly string[] = simulated ? OF_SESSIONS : OF_NUMBERS;
  const given = command.options.find(
    (option) =>
      idle.includes(option.attributeName()) && command.getOptionValueSource(option.attributeName()) === 'cli',
  );
  if (given === undefined) return;
  const message = `${given.long} means nothing ${simulated ? 'with' : 'without'} --simulated`;
  const hint = simulated
    ? 'Leave it out; without --simulated it is about sessions on this machine.'
    : 'Give --simulated too, or leave it out.';
  throw new QualifyError('ERR_QUALIFY_USAGE', message, { exit: 'usage', hint });
}
