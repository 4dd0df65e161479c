/** `qualify bisect`: which commit made a cell slower. */
import { join, relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { bisect } from '../bisect/bisect.js';
import { findRange } from '../bisect/range.js';
import { renderBisection } from '../bisect/render.js';
import { type Bisection, writeBisection } from '../bisect/result.js';
import { MOST_ROUNDS, matrixOf, measureBy } from '../bisect/sessions.js';
import { type Question, unfinishedBisection } from '../bisect/unfinished.js';
import { QualifyError } from '../errors.js';
import { harnessVersion } from '../harness.js';
import { folderLockAddress, type MachineLock, takeMachineLock } from '../machine/lock.js';
import { makeFolder } from '../make-folder.js';
import { cellId } from '../matrix/cell-id.js';
import { matrixDigest } from '../matrix/digest.js';
import { narrow } from '../matrix/narrow.js';
import type { Matrix } from '../matrix/schema.js';
import { engineRepository, revisionOfTree } from '../revision/resolve.js';
import { removeStaleWorktrees } from '../revision/worktree.js';
import { leaveNothingBehind } from '../session/leave-nothing.js';
import { sessionName } from '../session/run-folder.js';
import { interruptSignal } from './interrupt.js';
import { percentUpTo, wholeNumber } from './options.js';
import { answer, answerJson, note, startProgress } from './output.js';
import { DEFAULT_MATRIX, revisionMatrix } from './revision-matrix.js';

interface Flags {
  matrix: string;
  cell?: string;
  rounds?: number;
  budget?: number;
  firstParent?: true;
  anew?: true;
  wait?: true;
  json?: true;
}

/** Where bisections are, below the folder that qualify is called in. */
const BISECTIONS = join('.qualify', 'bisect');
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

/** One process at a time works on a bisection. @throws QualifyError ERR_QUALIFY_LOCKED (exit 15) */
const lockBisection = (folder: string, signal: AbortSignal): Promise<MachineLock> =>
  takeMachineLock({
    ...{ what: 'qualify bisect', wait: false, signal, address: folderLockAddress(folder) },
    subject: {
      name: `The bisection ${folder}`,
      hint: 'Wait for it to end, or begin another: --anew',
    },
  });

/** The unfinished bisection of the question, which nobody else can then go on with; null when there is none. */
async function claimUnfinished(
  bisections: string,
  question: Question,
  signal: AbortSignal,
): Promise<{ before: Bisection; lock: MachineLock } | null> {
  for (;;) {
    const found = unfinishedBisection(bisections, question);
    if (found === null) return null;
    const lock = await lockBisection(join(bisections, found.id), signal);
    // Whoever had it may have written more, or come to its end.
    const before = unfinishedBisection(bisections, question);
    if (before?.id === found.id) return { before, lock };
    await lock.release();
  }
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
  const range = await findRange(repository, good, bad);
  const phase = matrix.cells.find((one) => cellId(one) === cell)?.phase ?? 'prefill';
  const ends = { base: range.good, head: range.bad };
  const question = {
    ...{ good: range.good, bad: range.bad, firstParent: flags.firstParent === true, cell },
    ...{ marginPercent: flags.budget ?? matrix.budgets[phase], rounds: flags.rounds ?? null },
    ...{ harness: harnessVersion },
    matrix: { name: matrix.name, digest: matrixDigest(matrixOf(matrix, ends, flags.budget)) },
  };
  const bisections = resolve(root, BISECTIONS);
  const line = startProgress();
  const claimed = flags.anew === true ? null : await claimUnfinished(bisections, question, signal);
  const before = claimed?.before ?? null;
  let lock = claimed?.lock ?? null;
  const id = before?.id ?? sessionName(new Date());
  const folder = join(bisections, id);
  try {
    if (before !== null) {
      note(`Goes on with the unfinished bisection in ${relative(root, folder)} (--anew begins a new one).`);
      for (const stale of await removeStaleWorktrees())
        note(`removed the worktree ${stale} of a bisection that was killed`);
    }
    let waited = 0;
    const found = await bisect({
      ...{ repository, good: range.good, bad: range.bad, firstParent: question.firstParent },
      about: {
        ...{ id, startedAt: before?.startedAt ?? new Date().toISOString(), harness: question.harness, cell },
        ...{ matrix: question.matrix, marginPercent: question.marginPercent, rounds: question.rounds },
      },
      before,
      measure: measureBy({
        ...{ folder, repository, matrix, cell, rounds: flags.rounds, budget: flags.budget },
        ...{ wait: flags.wait === true, notices, signal },
        onBegun: async () => {
          makeFolder(folder);
          lock ??= await lockBisection(folder, signal);
        },
        onWaited: (seconds) => {
          waited += seconds;
        },
        progress: {
          update: (text, share) => line.update(text, share),
          note: (text) => line.end(text),
        },
      }),
      waitedSeconds: () => waited,
      save: (bisection) => {
        makeFolder(folder);
        writeBisection(folder, bisection);
      },
      note: (text) => line.end(text),
      signal,
    });
    line.end();
    if (flags.json === true) answerJson(found);
    else answer(renderBisection(found, relative(root, folder)));
    process.exitCode = found.exitCode;
  } finally {
    line.end();
    await lock?.release();
  }
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
    .option('--first-parent', 'go along first parents only: which merge brought it')
    .option('--anew', 'begin from the start, though an unfinished bisection of the same could go on')
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
        '\nThe same command again goes on from there, also after a crash: sessions that' +
        '\nwere measured are verified and count, and the one under way is resumed.' +
        '\n\nExits 0 when the culprit is confirmed, 11 when it is not or there is none,' +
        '\nand as the session of BAD does when that proves nothing. By hand:' +
        '\n  git bisect run qualify pr --base GOOD --cell 401/512 --bisect',
    )
    .action(run);
}
