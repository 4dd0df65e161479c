/** `qualify run`: one matrix, as it stands. */
import type { Command } from 'commander';
import { engineRepository } from '../revision/resolve.js';
import { refuseLeftToPr } from './left-to-pr.js';
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
    const matrix = loadRealMatrix(name);
    await refuseLeftToPr(name, matrix, repository);
    await runAndPrint(matrix, repository, flags, { challenge: askedBy(flags, name) });
  });
}
