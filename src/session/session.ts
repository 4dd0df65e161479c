/**
 * One session from the matrix to the sealed run folder. Whatever ends it early (an engine that dies, a build that fails, Ctrl-C), the
 * journal is closed with a failure and an end, the verdict follows from it by the same rule, and the folder is sealed and readable.
 */
import { randomBytes } from 'node:crypto';
import type { QualifyError } from '../errors.js';
import { SIMULATED_MACHINE, takeFolderLock, takeMachineLock } from '../machine/lock.js';
import { prepareSigningKey } from '../manifest/signing-key.js';
import { narrow } from '../matrix/narrow.js';
import type { Matrix } from '../matrix/schema.js';
import { buildPlan } from '../plan/build.js';
import { challengeSeed } from '../plan/challenge.js';
import { seedOf } from '../plan/seed.js';
import { removeStaleWorktrees } from '../revision/worktree.js';
import { shellPath } from '../shell-word.js';
import { type Asked, requireAnswer, requireInTime } from './answer-challenge.js';
import { resolveArms } from './arm-builds.js';
import { type Concluded, conclude } from './conclude.js';
import { type SessionProgress, withPhase } from './context.js';
import { leaveNothingBehind } from './leave-nothing.js';
import { record, writePlan } from './record.js';
import { makeRunFolder, requireEmpty, sessionName } from './run-folder.js';

export interface SessionOptions {
  matrix: Matrix;
  /** The repository in which names of revisions are looked up. */
  repository: string;
  /** Folder in which `.qualify/runs` lies. */
  folder: string;
  /** Another place for the run folder. */
  out?: string | undefined;
  /** Any text; equal text gives equal prompts and order. Drawn at random when absent. */
  seed?: string | undefined;
  rounds?: number | undefined;
  /** What the run is to answer; it then gives the seed. */
  challenge?: Asked | undefined;
  /** Ids of the only cells to run. */
  cells?: readonly string[] | undefined;
  /** Wait for the machine instead of failing when another session holds it. */
  wait: boolean;
  /** Told how many seconds other sessions had the machine, also when it was not to be had. */
  onWaited?: (seconds: number) => void;
  /** Said once nothing stands in the way any more and the session begins. */
  notices?: readonly string[];
  /** Told then, too: the run folder is there, with its plan. */
  onBegun?: () => Promise<void>;
  progress: SessionProgress;
  signal: AbortSignal;
}

export interface SessionResult extends Concluded {
  runFolder: string;
  /** True when this session made the key that sealed it. */
  keyCreated: boolean;
  /** What ended the session early. */
  failure: QualifyError | null;
}

/**
 * Runs a matrix.
 * @throws QualifyError when nothing could begin: a revision that does not exist, a challenge that it would not answer, a machine that is
 * taken, a run folder in the way.
 */
export async function runSession(options: SessionOptions): Promise<SessionResult> {
  leaveNothingBehind();
  const session = sessionName(new Date());
  const { matrix, leftOut } = narrow(options.matrix, options.cells);
  const asked = options.challenge;
  if (asked !== undefined) requireInTime(asked.challenge, new Date());
  const plan = buildPlan(matrix, {
    session,
    leftOut,
    seed:
      asked === undefined
        ? seedOf(options.seed ?? randomBytes(32).toString('hex'))
        : challengeSeed(asked.challenge),
    ...(asked && { challenge: asked.challenge }),
    ...(options.rounds !== undefined && { rounds: options.rounds }),
  });
  const revisions = await resolveArms(plan, options.repository);
  if (asked !== undefined) await requireAnswer(plan, revisions, asked);
  // A run that nothing can sign is found out now, and not after the measurement.
  const { created: keyCreated } = await prepareSigningKey();
  const what = `session ${session}`;
  const { progress, phase } = withPhase(options.progress);
  const asksAt = performance.now();
  const lock = await takeMachineLock({
    ...{ what, phase, wait: options.wait, onWait: progress.note, signal: options.signal },
    ...(matrix.simulation !== undefined && { subject: SIMULATED_MACHINE }),
  }).finally(() => options.onWaited?.((performance.now() - asksAt) / 1000));
  try {
    // Others may have had the machine for long.
    if (asked !== undefined) requireInTime(asked.challenge, new Date());
    for (const folder of await removeStaleWorktrees())
      progress.note(`removed the worktree ${folder} of a killed session`);
    const runFolder = makeRunFolder(session, options.out, options.folder);
    const folderLock = await takeFolderLock(runFolder, { what, wait: false, signal: options.signal });
    try {
      requireEmpty(runFolder);
      try {
        writePlan(runFolder, plan);
        for (const notice of options.notices ?? []) progress.note(notice);
        await options.onBegun?.();
        const failure = await record(plan, revisions, runFolder, { ...options, progress });
        return { runFolder, failure, ...(await conclude(runFolder)), keyCreated };
      } catch (error) {
        progress.note(
          `The run is not finished. To go on: qualify resume ${shellPath(options.out ?? runFolder)}`,
        );
        throw error;
      }
    } finally {
      await folderLock.release();
    }
  } finally {
    await lock.release();
  }
}
