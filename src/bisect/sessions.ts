/** Answers a bisection by sessions in its folder: by one that was measured before an interruption, one that is gone on with, or a new one. */
import { join } from 'node:path';
import type { Matrix } from '../matrix/schema.js';
import type { SessionProgress } from '../session/context.js';
import { resumeSession } from '../session/resume.js';
import { runSession } from '../session/session.js';
import type { Verdict } from '../verdict/schema.js';
import type { Asked, Measure } from './bisect.js';
import { earlierRun, namingRun } from './earlier-run.js';
import { type Failure, isOfTheCommit, judgementOf } from './outcome.js';

export const MOST_ROUNDS = 96;

export interface Sessions {
  /** Folder of the bisection: an absolute path. */
  folder: string;
  repository: string;
  matrix: Matrix;
  cell: string;
  /** `--rounds` and `--budget`. */
  rounds: number | undefined;
  budget: number | undefined;
  wait: boolean;
  /** Said when the first session begins. */
  notices: readonly string[];
  /** Awaited when a session begins, before it builds anything. */
  onBegun: () => Promise<void>;
  onWaited: (seconds: number) => void;
  progress: SessionProgress;
  signal: AbortSignal;
}

/** The matrix with the arms of one session, and the budget that was asked for. */
export function matrixOf(
  matrix: Matrix,
  { base, head }: Pick<Asked, 'base' | 'head'>,
  budget: number | undefined,
): Matrix {
  const arms = {
    base: { ...matrix.arms.base, revision: base },
    head: { ...matrix.arms.head, revision: head },
  };
  const budgets = budget === undefined ? matrix.budgets : { prefill: budget, decode: budget };
  return { ...matrix, arms: arms as Matrix['arms'], budgets };
}

function roundsOf({ matrix, rounds }: Sessions, again: Asked['again']): number | undefined {
  if (again !== 'more-rounds') return rounds;
  const cap = rounds ?? matrix.protocol.looks.at(-1) ?? MOST_ROUNDS;
  return Math.min(MOST_ROUNDS, 2 * cap);
}

/** @throws what `earlierRun`, `resumeSession` and `runSession` throw, and failures that are not of the commit. See `Measure`. */
export function measureBy(sessions: Sessions): Measure {
  const { folder, repository, cell, wait, onWaited, progress, signal } = sessions;
  let { notices } = sessions;
  return async (asked, begun) => {
    const runFolder = join(folder, asked.run);
    const matrix = matrixOf(sessions.matrix, asked, sessions.budget);
    const rounds = roundsOf(sessions, asked.again);
    const earlier = await earlierRun(runFolder, { matrix, cell, rounds });
    if (earlier.kind === 'measured') {
      progress.note(`${asked.run}: measured before, verified, not measured again`);
      const { verdict, failure } = earlier;
      return { ...judgementOf(verdict, failure), exitCode: verdict.exitCode, reused: true };
    }
    let session: { verdict: Verdict; failure: Failure | null };
    if (earlier.kind === 'unfinished') {
      progress.note(`${asked.run}: begun before, goes on`);
      session = await resumeSession({
        ...{ runFolder, repository, wait, onWaited, progress, signal },
      }).catch((error) => {
        throw namingRun(runFolder, error);
      });
    } else {
      session = await runSession({
        ...{ matrix, repository, folder, out: runFolder, cells: [cell], rounds },
        ...{ wait, notices, onWaited, progress, signal },
        onBegun: async () => {
          await sessions.onBegun();
          begun();
        },
      });
      notices = [];
    }
    const { verdict, failure } = session;
    if (failure !== null && !isOfTheCommit(failure)) throw failure;
    return { ...judgementOf(verdict, failure), exitCode: verdict.exitCode };
  };
}
