/**
 * A lock between processes for one entry of the cache, robust to a holder that was killed: the lock file names the
 * holder's pid and start time, and a lock whose holder is gone is taken over.
 */
import { link, mkdir, open, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const POLL_MS = 100;
/** Removing a dead holder's lock takes microseconds; a take-over older than this was itself killed. */
const TAKE_OVER_MS = 10_000;

const holderSchema = z.object({ pid: z.int().min(1), startTime: z.string() });
type Holder = z.infer<typeof holderSchema>;

/** Start time of a process in clock ticks since boot (field 22 of `/proc/PID/stat`); '' where there is no /proc. */
async function startTimeOf(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return line.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

async function isAlive(holder: Holder): Promise<boolean> {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  return (await startTimeOf(holder.pid)) === holder.startTime;
}

async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return { pid: 2 ** 30, startTime: 'unreadable' };
  }
}

/** The file appears with its content or not at all, hence a link and not an exclusive open. */
async function tryLock(path: string): Promise<boolean> {
  const mine = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  const holder: Holder = { pid: process.pid, startTime: await startTimeOf(process.pid) };
  await writeFile(mine, JSON.stringify(holder));
  try {
    await link(mine, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(mine);
  }
}

/** Only one process at a time removes a dead holder's lock, so that nobody removes its successor's. */
async function removeDead(path: string): Promise<void> {
  const guard = `${path}.takeover`;
  try {
    await (await open(guard, 'wx')).close();
  } catch {
    const age = Date.now() - ((await stat(guard).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age > TAKE_OVER_MS) await unlink(guard).catch(() => undefined);
    return;
  }
  try {
    const holder = await readHolder(path);
    if (holder !== undefined && !(await isAlive(holder))) await unlink(path);
  } finally {
    await unlink(guard).catch(() => undefined);
  }
}

/**
 * Runs `work` while holding the lock at `path`. Waits for a living holder, telling `onWait` its pid once.
 * `signal` ends the waiting with the signal's reason.
 */
export async function withCacheLock<T>(
  path: string,
  work: () => Promise<T>,
  options: { signal?: AbortSignal | undefined; onWait?: ((pid: number) => void) | undefined } = {},
): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  let told = false;
  while (!(await tryLock(path))) {
    const holder = await readHolder(path);
    if (holder === undefined) continue;
    if (!(await isAlive(holder))) {
      await removeDead(path);
      continue;
    }
    if (!told) options.onWait?.(holder.pid);
    told = true;
    options.signal?.throwIfAborted();
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    await unlink(path).catch(() => undefined);
  }
}
