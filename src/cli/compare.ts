/** `qualify compare`: two or more revisions, such as a stack of pull requests, against the first of them. */
import type { Command } from 'commander';
import { armNames } from '../matrix/with-revisions.js';
import { engineRepository } from '../revision/resolve.js';
import { DEFAULT_MATRIX, revisionMatrix } from './revision-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

export function register(program: Command): void {
  sessionOptions(
    program
      .command('compare')
      .description('compare revisions side by side; the first is what the others are compared against')
      .argument('<first>', 'a branch, a commit, "worktree", or prebuilt:<folder>')
      .argument('<others...>', 'one or more of the same')
      .option('--matrix <matrix>', 'cells, model, protocol and budgets', DEFAULT_MATRIX),
  ).action(async (first: string, others: string[], flags: SessionFlags & { matrix: string }) => {
    const revisions = [first, ...others];
    const names = armNames(revisions);
    const arms = revisions.map((revision, index) => ({ name: names[index] ?? revision, revision }));
    await runAndPrint(revisionMatrix(flags.matrix, arms), await engineRepository(process.cwd()), flags);
  });
}
