/** `qualify compare`: two or more revisions, such as a stack of pull requests, against the first of them. */
import type { Command } from 'commander';
import { withLeverOff } from '../matrix/lever-off.js';
import { armNames } from '../matrix/with-revisions.js';
import { engineRepository } from '../revision/resolve.js';
import { leverOption } from './options.js';
import { DEFAULT_MATRIX, LEVER_HELP, revisionMatrix } from './revision-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

interface CompareFlags extends SessionFlags {
  matrix: string;
  lever?: Record<string, string>;
}

export function register(program: Command): void {
  sessionOptions(
    program
      .command('compare')
      .description('compare revisions side by side; the first is what the others are compared against')
      .argument('<first>', 'a branch, a commit, "worktree", or prebuilt:<folder>')
      .argument('<others...>', 'one or more of the same')
      .option('--matrix <matrix>', 'cells, model, protocol and budgets', DEFAULT_MATRIX)
      .addOption(leverOption())
      .addHelpText(
        'after',
        `${LEVER_HELP}\nOf several revisions it is the last that runs without its levers.`,
      ),
  ).action(async (first: string, others: string[], flags: CompareFlags) => {
    const revisions = [first, ...others];
    const names = armNames(revisions);
    const compared = revisions.map((revision, index) => ({ name: names[index] ?? revision, revision }));
    const arms = withLeverOff(compared, flags.lever);
    await runAndPrint(revisionMatrix(flags.matrix, arms), await engineRepository(process.cwd()), flags);
  });
}
