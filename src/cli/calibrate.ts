/** `qualify calibrate`: how finely differences can be told apart. */
import type { Command } from 'commander';
import { calibrateMachine, type MachineFlags, machineOptions } from './calibrate-machine.js';

export function register(program: Command): void {
  machineOptions(
    program
      .command('calibrate')
      .description('what this machine can tell apart: A/A sessions, and a slowdown that must be found'),
  ).action((flags: MachineFlags) => calibrateMachine(flags));
}
