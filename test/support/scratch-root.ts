/**
 * Where tests put their scratch folders. In memory where there is plenty of it: a run folder is flushed line by line, and a disk takes
 * milliseconds for each, so that a test of a thousand runs does little but wait for it. `TMPDIR` names another place.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';
/** Many times what two files of tests hold at a time. */
const LEAST_BYTES = 4 * 2 ** 30;

/** Whether it is memory from which engines may be started, and holds what tests write without pressing anybody. */
function isRoomy(): boolean {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  // Of several in one place the last is seen.
  const mount = mounts.map((line) => line.split(' ')).findLast(([, place]) => place === MEMORY);
  const [, , type, options = ''] = mount ?? [];
  if (type !== 'tmpfs' || options.split(',').includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) >= LEAST_BYTES;
}

/** An existing folder. */
export const scratchRoot = process.env.TMPDIR === undefined && isRoomy() ? MEMORY : tmpdir();
