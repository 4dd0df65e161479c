/** `qualify pr`: a pull request's head against where it left main. */
import type { Command } from 'commander';
import { engineRepository, mergeBaseWithMain, revisionOfTree } from '../revision/resolve.js';
import { note } from './output.js';
import { DEFAULT_MATRIX, revisionMatrix } from './revision-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

export function register(program: Command): void {
  sessionOptions(
    program
      .command('pr')
      .description('qualify a change: build base and head from git and compare them')
      .option('--base <ref>', 'what to compare against (default: the merge base of head with main)')
      .option('--head <ref>', 'the change: a branch, a commit, or "worktree"', 'HEAD')
      .option('--matrix <matrix>', 'cells, model, protocol and budgets', DEFAULT_MATRIX),
  ).action(async (flags: SessionFlags & { base?: string; head: string; matrix: string }) => {
    const repository = await engineRepository(process.cwd());
    const base =
      flags.base ?? (await mergeBaseWithMain(repository, flags.head === 'worktree' ? 'HEAD' : flags.head));
    if (flags.base === undefined) note(`base is ${base}, where ${flags.head} left main`);
    if (flags.head === 'HEAD' && (await revisionOfTree('worktree', repository)).dirty) {
      note('The working tree has changes that HEAD does not; to qualify them: --head worktree');
    }
    const arms = [
      { name: 'base', revision: base },
      { name: 'head', revision: flags.head },
    ];
    await runAndPrint(revisionMatrix(flags.matrix, arms), repository, flags);
  });
}
