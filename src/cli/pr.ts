/** `qualify pr`: a pull request's head against where it left main. */
import type { Command } from 'commander';
import { withLeverOff } from '../matrix/lever-off.js';
import { engineRepository, mergeBaseWithMain, revisionOfTree } from '../revision/resolve.js';
import { BISECT_OPTION, gitBisectCode } from './git-bisect.js';
import { leverOption } from './options.js';
import { note } from './output.js';
import { DEFAULT_MATRIX, LEVER_HELP, revisionMatrix } from './revision-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

interface PrFlags extends SessionFlags {
  base?: string;
  head: string;
  matrix: string;
  lever?: Record<string, string>;
  bisect?: true;
}

export function register(program: Command): void {
  sessionOptions(
    program
      .command('pr')
      .description('qualify a change: build base and head from git and compare them')
      .option('--base <ref>', 'what to compare against (default: the merge base of head with main)')
      .option('--head <ref>', 'the change: a branch, a commit, or "worktree"', 'HEAD')
      .option('--matrix <matrix>', 'cells, model, protocol and budgets', DEFAULT_MATRIX)
      .addOption(leverOption())
      .option(BISECT_OPTION, 'exit as `git bisect run` wants it: 0 good, 1 over budget, 125 not measurable')
      .addHelpText('after', LEVER_HELP),
  ).action(async (flags: PrFlags) => {
    const repository = await engineRepository(process.cwd());
    const base =
      flags.base ?? (await mergeBaseWithMain(repository, flags.head === 'worktree' ? 'HEAD' : flags.head));
    if (flags.base === undefined) note(`base is ${base}, where ${flags.head} left main`);
    if (flags.head === 'HEAD' && (await revisionOfTree('worktree', repository)).dirty) {
      note('The working tree has changes that HEAD does not; to qualify them: --head worktree');
    }
    const compared = [
      { name: 'base', revision: base },
      { name: 'head', revision: flags.head },
    ];
    const arms = withLeverOff(compared, flags.lever);
    const codeOf = flags.bisect === true ? gitBisectCode : undefined;
    await runAndPrint(revisionMatrix(flags.matrix, arms), repository, flags, codeOf);
  });
}
