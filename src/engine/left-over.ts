/**
 * Engines that outlive their session for a moment: `kill -9` leaves them to their guards, and who goes on with the session must not
 * meet them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { QualifyError } from '../errors.js';
import { processesWithVariableLike } from '../machine/procfs.js';
import { LAUNCH_VARIABLE } from './environment.js';

/** What guards get to do their work. */
const GUARDS_MS = 5000;
/** What a killed process gets to be gone; it may be in the middle of a write. */
const KILLED_MS = 10_000;
const POLL_MS = 20;

const gone = async (mark: string, limitMs: number): Promise<boolean> => {
  const deadline = performance.now() + limitMs;
  while (processesWithVariableLike(mark).length > 0) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
};

/**
 * Waits until nothing lives that a session launched, and ends what stays. The caller holds the machine's lock, so that the session itself
 * is not alive. Launches are marked with the session's name, a dot, and what is their own.
 * @throws QualifyError `ERR_QUALIFY_PROCESS_LEFT` (exit 15) when something survives.
 */
export async function endLeftOver(session: string): Promise<void> {
  const mark = `${LAUNCH_VARIABLE}=${session}.`;
  if (await gone(mark, GUARDS_MS)) return;
  for (const pid of processesWithVariableLike(mark)) kill(pid);
  if (await gone(mark, KILLED_MS)) return;
  const pids = processesWithVariableLike(mark).join(', ');
  throw new QualifyError('ERR_QUALIFY_PROCESS_LEFT', `Processes of session ${session} survive SIGKILL.`, {
    exit: 'infrastructure',
    where: `pid ${pids}`,
    hint: 'Look with `ps -eo pid,pgid,stat,args`: whoever waits for a device can only be ended by it.',
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
