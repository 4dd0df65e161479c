/** `qualify run`: one matrix, as it stands. */
import type { Command } from 'commander';
import { engineRepository } from '../revision/resolve.js';
import { loadRealMatrix } from './real-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

export function register(program: Command): void {
  sessionOptions(
    program
      .command('run')
      .description('run a matrix: build, launch, measure, prove, decide and sign')
      .argument('<matrix>', 'a built-in matrix (qualify matrix list) or a YAML file'),
  ).action(async (name: string, flags: SessionFlags) => {
    await runAndPrint(loadRealMatrix(name), await engineRepository(process.cwd()), flags);
  });
}
