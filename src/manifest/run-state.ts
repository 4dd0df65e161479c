/** Whether a folder is a run at all, and whether its session came to its end: asked before anything is checked. */
import { constants } from 'node:fs';
import { lstat, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';
import { shellPath } from '../shell-word.js';
import { MANIFEST_FILE } from './evidence-index.js';
import { invalid } from './invalid.js';
import { JOURNAL_FILE, PLAN_FILE, VERDICT_FILE } from './run-folder.js';

const there = async (folder: string, file: string): Promise<boolean> =>
  (await lstat(join(folder, file)).catch(() => null)) !== null;

/** More than the last line of a journal has, when it is the end of the session. */
const LAST_LINE_BYTES = 1024;

/**
 * Lets a folder pass that may be a finished run.
 * @throws QualifyError `ERR_QUALIFY_NO_RUN` (exit 64) for what is no run, `ERR_QUALIFY_RUN_UNFINISHED` (16) for a run
 * that goes on or was killed, `ERR_QUALIFY_INVALID` (16) for one that has all but its seal: somebody may have taken it away.
 */
export async function requireFinishedRun(runFolder: string): Promise<void> {
  await requireFolder(runFolder);
  if (await there(runFolder, MANIFEST_FILE)) return;
  if ((await there(runFolder, VERDICT_FILE)) && (await mayHaveEnded(runFolder)))
    throw invalid(
      MANIFEST_FILE,
      'is missing: the session was killed before it sealed the run, or somebody took the seal away',
      undefined,
      `Do not rely on a run of others: fetch its folder again from whoever published it. If the run is yours, seal it: qualify resume ${shellPath(runFolder)}`,
    );
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
      hint: `A run has a verdict once ${MANIFEST_FILE} is there. Wait for its session, or: qualify resume ${shellPath(runFolder)}`,
    },
  );
}

/**
 * Lets a folder pass. `file` is what a run has that will do.
 * @throws QualifyError `ERR_QUALIFY_NO_RUN` (exit 64), which says of a file what can be done with an archive
 */
export async function requireFolder(runFolder: string, file = MANIFEST_FILE): Promise<void> {
  const found = await stat(runFolder).catch(() => null);
  if (found?.isDirectory()) return;
  if (!found?.isFile()) throw noRun(`there is no run folder ${runFolder}`, runFolder, file);
  throw new QualifyError('ERR_QUALIFY_NO_RUN', `${runFolder} is a file, and this takes a run folder`, {
    exit: 'usage',
    where: runFolder,
    hint: `An archive is a run that is packed already; to make its folder: qualify unpack ${shellPath(runFolder)}`,
  });
}

/** What a folder is told that holds no run; `file` is what a run has that will do. */
export const noRun = (message: string, runFolder: string, file = MANIFEST_FILE): QualifyError =>
  new QualifyError('ERR_QUALIFY_NO_RUN', message, {
    exit: 'usage',
    where: runFolder,
    hint: `Give the folder that holds ${file}, or the name of a session in .qualify/runs`,
  });

/** Whether the journal has its last line. One that cannot be read or is gone may have had it. */
async function mayHaveEnded(runFolder: string): Promise<boolean> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(runFolder, JOURNAL_FILE), flags).catch(() => null);
  if (file === null) return true;
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - LAST_LINE_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LAST_LINE_BYTES), { position: from });
    const lastLine = buffer.toString('utf8', 0, bytesRead).split('\n').at(-2);
    return lastLine?.includes('"kind":"end"') === true;
  } catch {
    return true;
  } finally {
    await file.close();
  }
}
