/** Whether a folder is a run at all, and whether its session came to its end: asked before anything is checked. */
import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { MANIFEST_FILE } from './evidence-index.js';
import { JOURNAL_FILE, PLAN_FILE, VERDICT_FILE } from './run-folder.js';

const there = async (folder: string, file: string): Promise<boolean> =>
  (await lstat(join(folder, file)).catch(() => null)) !== null;

/**
 * Lets a folder pass that may be a finished run. A folder with a verdict and no manifest passes too: what is missing
 * there is for the checks to say, since somebody may have taken it away.
 * @throws QualifyError `ERR_QUALIFY_NO_RUN` (exit 64) for what is no run, `ERR_QUALIFY_RUN_UNFINISHED` (16) for a run
 * that goes on or was killed.
 */
export async function requireFinishedRun(runFolder: string): Promise<void> {
  const info = await stat(runFolder).catch(() => null);
  if (!info?.isDirectory()) throw noRun(`there is no run folder ${runFolder}`, runFolder);
  if ((await there(runFolder, MANIFEST_FILE)) || (await there(runFolder, VERDICT_FILE))) return;
  if (!(await there(runFolder, PLAN_FILE)) && !(await there(runFolder, JOURNAL_FILE))) {
    throw noRun(
      `${runFolder} is not a run folder: it has no ${PLAN_FILE} and no ${MANIFEST_FILE}`,
      runFolder,
    );
  }
  throw new QualifyError(
    'ERR_QUALIFY_RUN_UNFINISHED',
    `${runFolder} is not finished: still running, or its session was killed`,
    {
      exit: 'invalid',
      where: runFolder,
      hint: `A run has a verdict once ${MANIFEST_FILE} is there. Wait for its session, or: qualify resume ${runFolder}`,
    },
  );
}

/** What a folder is told that holds no run; `file` is what a run has that will do. */
export const noRun = (message: string, runFolder: string, file = MANIFEST_FILE): QualifyError =>
  new QualifyError('ERR_QUALIFY_NO_RUN', message, {
    exit: 'usage',
    where: runFolder,
    hint: `Give the folder that holds ${file}, or the name of a session in .qualify/runs`,
  });
