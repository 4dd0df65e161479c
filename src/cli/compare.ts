/** `qualify compare`: two or more revisions, such as a stack of pull requests, against the first of them; or two finished runs. */
import type { Command } from 'commander';
import { QualifyError } from '../errors.js';
import { armNames } from '../matrix/with-revisions.js';
import { engineRepository } from '../revision/resolve.js';
import { compareRuns, runFolders } from './compare-runs.js';
import { DEFAULT_MATRIX, revisionMatrix } from './revision-matrix.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

export function register(program: Command): void {
  sessionOptions(
    program
      .command('compare')
      .description('compare revisions side by side; the first is what the others are compared against')
      .argument('<first>', 'a branch, a commit, "worktree", or prebuilt:<folder>; or a run folder')
      .argument('<others...>', 'one or more of the same')
      .option('--matrix <matrix>', 'cells, model, protocol and budgets', DEFAULT_MATRIX)
      .addHelpText('after', RUNS_HELP),
  ).action(async (first: string, others: string[], flags: SessionFlags & { matrix: string }) => {
    const revisions = [first, ...others];
    const runs = runFolders(revisions);
    if (runs !== null) {
      refuseSessionFlags(flags);
      return compareRuns(runs, flags.json === true);
    }
    const names = armNames(revisions);
    const arms = revisions.map((revision, index) => ({ name: names[index] ?? revision, revision }));
    await runAndPrint(revisionMatrix(flags.matrix, arms), await engineRepository(process.cwd()), flags);
  });
}

const RUNS_HELP =
  '\nTwo run folders instead of revisions: both are verified (exit 16 when one does\n' +
  'not hold). For each cell it is said whether an arm is higher, lower or about the\n' +
  'same in the second session, and which conditions differ. Rates of two sessions\n' +
  'are unmatched: no amount is told, and the exit code is 14 whatever is found.';

/** Options of a session mean nothing where none is run. */
function refuseSessionFlags({ json: _json, matrix, ...flags }: SessionFlags & { matrix: string }): void {
  const given = [...Object.keys(flags), ...(matrix === DEFAULT_MATRIX ? [] : ['matrix'])];
  const [option] = given;
  if (option === undefined) return;
  throw new QualifyError(
    'ERR_QUALIFY_USAGE',
    `--${option} is about a session, and run folders are finished.`,
    {
      exit: 'usage',
      hint: 'Leave it out, or name revisions.',
    },
  );
}
