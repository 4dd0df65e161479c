/** `qualify pr`: a pull request's head against where it left main. */
import type { Command } from 'commander';
import { readChallenge } from '../manifest/challenge-file.js';
import { withLeverOff } from '../matrix/lever-off.js';
import { engineRepository, mergeBaseWithMain, revisionOfTree } from '../revision/resolve.js';
import type { Asked } from '../session/answer-challenge.js';
import type { SessionResult } from '../session/session.js';
import { BISECT_OPTION, gitBisectCode, gitBisectLine } from './git-bisect.js';
import { builtInAsked } from './issued-challenge.js';
import { leverOption } from './options.js';
import { note } from './output.js';
import { loadRealMatrix } from './real-matrix.js';
import { DEFAULT_MATRIX, LEVER_HELP, revisionMatrix } from './revision-matrix.js';
import { challengeOption, runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

interface PrFlags extends SessionFlags {
  base?: string;
  head?: string;
  matrix?: string;
  lever?: Record<string, string>;
  bisect?: true;
}

export function register(program: Command): void {
  sessionOptions(
    program
      .command('pr')
      .description('qualify a change: build base and head from git and compare them')
      .option('--base <ref>', 'what to compare against (default: the merge base of head with main)')
      .option('--head <ref>', 'the change: a branch, a commit, or "worktree" (default: HEAD)')
      .option('--matrix <matrix>', `cells, model, protocol and budgets (default: ${DEFAULT_MATRIX})`)
      .addOption(leverOption())
      .addOption(challengeOption())
      .option(BISECT_OPTION, 'exit as `git bisect run` wants it: 0 good, 1 over budget, 125 neither shown')
      .addHelpText('after', LEVER_HELP)
      .addHelpText(
        'after',
        '\nWith --challenge, base, head and matrix are those that it asks for, where they\nare not given; a matrix that is not built in takes --matrix FILE.',
      ),
  ).action(async (flags: PrFlags) => {
    const repository = await engineRepository(process.cwd());
    const { head, base, matrix, asked } = await whatToCompare(flags, repository);
    if (head === 'HEAD' && (await revisionOfTree('worktree', repository)).dirty) {
      note('The working tree has changes that HEAD does not; to qualify them: --head worktree');
    }
    const compared = [
      { name: 'base', revision: base },
      { name: 'head', revision: head },
    ];
    const arms = withLeverOff(compared, flags.lever);
    const codeOf = flags.bisect === true ? tellGitBisect : undefined;
    const { matrix: put, notices } = revisionMatrix(matrix, arms);
    await runAndPrint(put, repository, flags, { challenge: asked, codeOf, notices });
  });
}

/** Said last, below a report that names another code. */
function tellGitBisect(result: SessionResult): number {
  note(gitBisectLine(result));
  return gitBisectCode(result);
}

interface Compared {
  head: string;
  base: string;
  matrix: string;
  asked: Asked | undefined;
}

/** What is not given is what the challenge asks for; without one, HEAD against where it left main. */
async function whatToCompare(flags: PrFlags, repository: string): Promise<Compared> {
  if (flags.challenge !== undefined) {
    const challenge = readChallenge(flags.challenge);
    const matrix = flags.matrix ?? builtInAsked(flags.challenge, challenge);
    return {
      head: flags.head ?? challenge.head,
      base: flags.base ?? challenge.base,
      matrix,
      asked: { challenge, matrix: loadRealMatrix(matrix) },
    };
  }
  const { head = 'HEAD', matrix = DEFAULT_MATRIX } = flags;
  const base = flags.base ?? (await mergeBaseWithMain(repository, head === 'worktree' ? 'HEAD' : head));
  if (flags.base === undefined) note(`base is ${base}, where ${head} left main`);
  return { head, base, matrix, asked: undefined };
}
