/** `qualify run`: one matrix, as it stands. */
import type { Command } from 'commander';
import { engineRepository } from '../revision/resolve.js';
import { loadRealMatrix } from './real-matrix.js';
import {
  askedBy,
  challengeOption,
  runAndPrint,
  type SessionFlags,
  sessionOptions,
} from './session-command.js';

export function register(program: Command): void {
  sessionOptions(
    program
      .command('run')
      .description('run a matrix: build, launch, measure, prove, decide and sign')
      .argument('<matrix>', 'a built-in matrix (qualify matrix list) or a YAML file')
      .addOption(challengeOption()),
  ).action(async (name: string, flags: SessionFlags) => {
    const repository = await engineRepository(process.cwd());
    await runAndPrint(loadRealMatrix(name), repository, flags, { challenge: askedBy(flags, name) });
  });
}
