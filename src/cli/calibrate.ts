/** `qualify calibrate`: how far verdicts can be believed. */
import type { Command } from 'commander';
import { calibrateMachine, type MachineFlags, machineOptions } from './calibrate-machine.js';
import { calibrateSimulated, type SimulatedFlags, simulatedOptions } from './calibrate-simulated.js';

export function register(program: Command): void {
  const command = program
    .command('calibrate')
    .description('how far verdicts can be believed: error rates of the rule, noise of the machine');
  simulatedOptions(machineOptions(command)).action((flags: MachineFlags & SimulatedFlags) =>
    flags.simulated ? calibrateSimulated(flags) : calibrateMachine(flags),
  );
}
