/** `qualify bisect`: which commit made a cell slower. */
import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { type Asked, bisect, type Measured } from '../bisect/bisect.js';
import { isOfTheCommit, judgementOf } from '../bisect/outcome.js';
import { renderBisection } from '../bisect/render.js';
import { writeBisection } from '../bisect/result.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import { makeFolder } from '../make-folder.js';
import { cellId } from '../matrix/cell-id.js';
import { matrixDigest } from '../matrix/digest.js';
import { narrow } from '../matrix/narrow.js';
import type { Matrix } from '../matrix/schema.js';
import { engineRepository, revisionOfTree } from '../revision/resolve.js';
import { leaveNothingBehind } from '../session/leave-nothing.js';
import { sessionName } from '../session/run-folder.js';
import { runSession } from '../session/session.js';
import { interruptSignal } from './interrupt.js';
import { percentUpTo, wholeNumber } from './options.js';
import { answer, answerJson, note, printable, startProgress } from './output.js';
import { DEFAULT_MATRIX, revisionMatrix } from './revision-matrix.js';

interface Flags {
  matrix: string;
  cell?: string;
  rounds?: number;
  budget?: number;
  firstParent?: true;
  wait?: true;
  json?: true;
}

/** Where bisections are, below the folder that qualify is called in. */
const BISECTIONS = join('.qualify', 'bisect');
const MOST_ROUNDS = 96;
const MOST_BUDGET = 50;

/** The one cell that decides. */
function cellOf(matrix: Matrix, asked: string | undefined): string {
  const ids = matrix.cells.map(cellId);
  const [only, ...more] = ids;
  if (asked === undefined && only !== undefined && more.length === 0) return only;
  if (asked !== undefined) {
    narrow(matrix, [asked]);
    return asked;
  }
  throw new QualifyError(
    'ERR_QUALIFY_CELL',
    `${matrix.name} has ${ids.length} cells, and a bisection is about one.`,
    {
      exit: 'usage',
      hint: `Name it: --cell ${only}; its cells: ${ids.join(', ')}`,
    },
  );
}

/** The matrix with the arms of one session, and the budget that was asked for. */
function matrixOf(matrix: Matrix, { base, head }: Asked, budget: number | undefined): Matrix {
  const arms = {
    base: { ...matrix.arms.base, revision: base },
    head: { ...matrix.arms.head, revision: head },
  };
  const budgets = budget === undefined ? matrix.budgets : { prefill: budget, decode: budget };
  return { ...matrix, arms: arms as Matrix['arms'], budgets };
}

function roundsOf(matrix: Matrix, flags: Flags, again: Asked['again']): number | undefined {
  if (again !== 'more-rounds') return flags.rounds;
  const cap = flags.rounds ?? matrix.protocol.looks.at(-1) ?? MOST_ROUNDS;
  return Math.min(MOST_ROUNDS, 2 * cap);
}

async function run(good: string, bad: string, flags: Flags): Promise<void> {
  const root = process.cwd();
  const repository = await engineRepository(root);
  const arms = [
    { name: 'base', revision: good },
    { name: 'head', revision: bad },
  ];
  const { matrix, notices } = revisionMatrix(flags.matrix, arms);
  const cell = cellOf(matrix, flags.cell);
  if ([good, bad].includes('HEAD') && (await revisionOfTree('worktree', repository)).dirty)
    note('The working tree has changes that HEAD does not; they are not looked at.');
  const signal = interruptSignal();
  leaveNothingBehind();
  const id = sessionName(new Date());
  const folder = resolve(root, BISECTIONS, id);
  const line = startProgress();
  const progress = {
    update: (text: string, share: number | null) => line.update(text, share),
    note: (text: string) => line.end(text),
  };
  let waited = 0;
  const measure = async (asked: Asked): Promise<Measured> => {
    const { verdict, failure } = await runSession({
      // Once, by the first session.
      notices: notices.splice(0),
      onWaited: (seconds) => {
        waited += seconds;
      },
      matrix: matrixOf(matrix, asked, flags.budget),
      ...{ repository, folder: root, out: join(folder, asked.run), cells: [cell] },
      rounds: roundsOf(matrix, flags, asked.again),
      ...{ wait: flags.wait === true, progress, signal },
    });
    if (failure !== null && !isOfTheCommit(failure)) throw failure;
    return { ...judgementOf(verdict, failure), exitCode: verdict.exitCode };
  };
  const planned = matrix.cells.find((one) => cellId(one) === cell);
  const found = await bisect({
    ...{ repository, good, bad, firstParent: flags.firstParent === true },
    about: {
      ...{ id, startedAt: new Date().toISOString(), harness: harnessVersion, cell },
      matrix: { name: matrix.name, digest: matrixDigest(matrix) },
      marginPercent: flags.budget ?? matrix.budgets[planned?.phase ?? 'prefill'],
    },
    measure,
    waitedSeconds: () => waited,
    save: (bisection) => {
      makeFolder(folder);
      writeBisection(folder, bisection);
    },
    note: (text) => line.end(printable(text)),
    signal,
  }).finally(() => line.end());
  if (flags.json === true) answerJson(found);
  else answer(renderBisection(found, relative(root, folder)));
  process.exitCode = found.exitCode;
}

export function register(program: Command): void {
  program
    .command('bisect')
    .description('find the commit that made a cell slower: git bisect, with a session as the judge')
    .argument('<good>', 'a commit that is fast')
    .argument('<bad>', 'a commit that is slower beyond the budget')
    .option('--matrix <matrix>', 'model, protocol and budgets', DEFAULT_MATRIX)
    .option('--cell <id>', 'the cell that became slower; needed where the matrix has more than one')
    .option('--rounds <n>', 'run exactly so many rounds and look once', wholeNumber(1, MOST_ROUNDS))
    .option('--budget <percent>', 'how much slower counts as bad, such as 5%', percentUpTo(MOST_BUDGET))
    .option('--first-parent', 'search along first parents only: which merge brought it')
    .option('--wait', 'wait for the machine when another session measures on it')
    .option('--json', 'print bisect.json instead of the text')
    .addHelpText(
      'after',
      '\nEach step compares GOOD with a commit in a session of their own. Bad is what' +
        '\nis slower beyond the budget; good is what passes. A session that does not' +
        '\ndecide is run once more with twice the rounds, and then the commit is skipped,' +
        '\nas is one that does not build or lacks a proof. BAD is measured first, and the' +
        '\nculprit against its parent last.' +
        '\n\nYour checkout, and a bisection of yours, are not touched. Ctrl-C leaves no' +
        `\nworktree; what was found is printed, and kept in ${BISECTIONS}.` +
        '\n\nExits 0 when the culprit is confirmed, 11 when it is not or there is none,' +
        '\nand as the session of BAD does when that proves nothing. By hand:' +
        '\n  git bisect run qualify pr --base GOOD --cell 401/512 --bisect',
    )
    .action(run);
}
