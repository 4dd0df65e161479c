/** `qualify compare`: two or more revisions, such as a stack of pull requests, against the first of them; or two finished runs. */
import type { Command } from 'commander';
import { QualifyError } from '../errors.js';
import { withLeverOff } from '../matrix/lever-off.js';
import { armNames } from '../matrix/with-revisions.js';
import { engineRepository } from '../revision/resolve.js';
import { compareRuns, runsAmong } from './compare-runs.js';
import { leverOption } from './options.js';
import { DEFAULT_MATRIX, LEVER_HELP, revisionMatrix } from './revision-matrix.js';
import {
  askedBy,
  challengeOption,
  runAndPrint,
  type SessionFlags,
  sessionOptions,
} from './session-command.js';

interface CompareFlags extends SessionFlags {
  matrix: string;
  lever?: Record<string, string>;
}

export function register(program: Command): void {
  sessionOptions(
    program
      .command('compare')
      .description('compare revisions side by side; the first is what the others are compared against')
      .argument(
        '<first>',
        'a branch, a commit, "worktree", or prebuilt:<folder>; a run folder, its archive (.tar), or the name of its session',
      )
      .argument('<others...>', 'one or more of the same')
      .option('--matrix <matrix>', 'cells, model, protocol and budgets', DEFAULT_MATRIX)
      .addOption(leverOption())
      .addOption(challengeOption())
      .addHelpText(
        'after',
        `${LEVER_HELP}\nOf several revisions it is the last that runs without its levers.\n${RUNS_HELP}`,
      ),
  ).action(async (first: string, others: string[], flags: CompareFlags) => {
    const revisions = [first, ...others];
    const runs = runsAmong(revisions);
    if (runs !== null) {
      refuseSessionFlags(flags);
      return compareRuns(runs, flags.json === true);
    }
    const names = armNames(revisions);
    const compared = revisions.map((revision, index) => ({ name: names[index] ?? revision, revision }));
    const arms = withLeverOff(compared, flags.lever);
    const repository = await engineRepository(process.cwd());
    const { matrix, notices } = revisionMatrix(flags.matrix, arms);
    const challenge = askedBy(flags, flags.matrix);
    await runAndPrint(matrix, repository, flags, { challenge, notices });
  });
}

const RUNS_HELP =
  '\nTwo runs instead of revisions, as folders or archives: both are verified (exit\n' +
  '16 when one does not hold). For each cell it is said whether an arm is higher,\n' +
  'lower or about the same in the second session, and which conditions differ.\n' +
  'Rates of two sessions are unmatched: no amount is told, and the exit code is 14\n' +
  'whatever is found.';

/** Options of a session mean nothing where none is run. */
function refuseSessionFlags({ json: _json, matrix, ...flags }: SessionFlags & { matrix: string }): void {
  const given = [...Object.keys(flags), ...(matrix === DEFAULT_MATRIX ? [] : ['matrix'])];
  const [option] = given;
  if (option === undefined) return;
  throw new QualifyError('ERR_QUALIFY_USAGE', `--${option} is about a session, and runs are finished.`, {
    exit: 'usage',
    hint: 'Leave it out, or name revisions.',
  });
}
