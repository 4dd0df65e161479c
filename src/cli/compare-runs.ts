/** `qualify compare RUN_A RUN_B`: two runs of different sessions, as folders or archives, of which only directions are said. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { acrossSessions, type SessionRecord } from '../analysis/across-sessions.js';
import { QualifyError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { PLAN_FILE } from '../manifest/run-folder.js';
import { withRunFolder } from '../manifest/unpack.js';
import { verifyRun } from '../manifest/verify.js';
import { renderAcrossSessions } from '../report/across-sessions.js';
import { findRun } from './find-run.js';
import { answer, answerJson, startProgress } from './output.js';

/** What `qualify pack` makes, as a gate looks for it: any other file may have the name of a branch. */
const isArchive = (name: string): boolean =>
  name.endsWith('.tar') && statSync(name, { throwIfNoEntry: false })?.isFile() === true;

const isRun = (name: string): boolean => existsSync(join(findRun(name), PLAN_FILE)) || isArchive(name);

const usage = (message: string, hint: string): QualifyError =>
  new QualifyError('ERR_QUALIFY_USAGE', message, { exit: 'usage', hint });

/**
 * The two runs among what was asked to be compared, folders or archives, or null when it is revisions.
 * @throws QualifyError `ERR_QUALIFY_USAGE` (exit 64) when it is neither.
 */
export function runsAmong(names: readonly string[]): readonly [string, string] | null {
  const runs = names.filter(isRun);
  if (runs.length === 0) return null;
  const [first, second, ...more] = runs;
  if (runs.length < names.length || second === undefined || first === undefined) {
    const other = names.find((name) => !isRun(name)) ?? 'nothing';
    throw usage(
      `${first} is a run and ${other} is not one.`,
      'Give two run folders or archives, or two or more revisions.',
    );
  }
  if (more.length > 0)
    throw usage(`${runs.length} runs at once.`, 'Give two: the second is set against the first.');
  return [findRun(first), findRun(second)];
}

/** What is true of a run only when the whole of it holds. */
async function readVerified(run: string): Promise<SessionRecord> {
  try {
    const { record } = await withRunFolder(run, (folder) => verifyRun(folder));
    return record;
  } catch (error) {
    if (!(error instanceof QualifyError)) throw error;
    // It names the run itself, and what to do about it.
    if (error.code === 'ERR_QUALIFY_RUN_UNFINISHED') throw error;
    throw new QualifyError(error.code, `${run} does not hold: ${error.message}`, {
      exit: error.exit,
      cause: error,
      ...(error.where !== undefined && { where: error.where }),
      ...(error.hint !== undefined && { hint: error.hint }),
    });
  }
}

/** Verifies both, prints directions, and sets exit code 14 whatever they are. */
export async function compareRuns(runs: readonly [string, string], json: boolean): Promise<void> {
  const progress = startProgress();
  try {
    progress.update(`checking ${runs[0]}`, 0);
    const first = await readVerified(runs[0]);
    progress.update(`checking ${runs[1]}`, 0.5);
    const second = await readVerified(runs[1]);
    progress.end();
    const { session } = first.plan;
    if (session === second.plan.session)
      throw usage(`Both are of session ${session}.`, 'Its own report compares its arms: qualify report RUN');
    const across = acrossSessions(first, second);
    if (json) answerJson(across);
    else answer(renderAcrossSessions(across, runs));
    process.exitCode = EXIT.unmatched;
  } finally {
    progress.end();
  }
}
