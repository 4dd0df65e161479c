/**
 * A lock between processes for one entry of the cache, robust to a holder that was killed: the lock file names the
 * holder's pid and start time, and a lock whose holder is gone is taken over. A guard removes the lock of a killed holder.
 */
import { link, open, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { guard } from '../machine/guard.js';
import { isSameProcessAlive, processStat } from '../machine/procfs.js';
import { makeCacheFolder } from '../make-folder.js';

const POLL_MS = 100;
/** When a wait is told for the first time, and how often from then on. */
const FIRST_WORD_MS = 2000;
const NEXT_WORD_MS = 30_000;
/** Removing a dead holder's lock takes microseconds; a take-over older than this was itself killed. */
const TAKE_OVER_MS = 10_000;

const holderSchema = z.object({ pid: z.int().min(1), startTicks: z.int().min(0) });
type Holder = z.infer<typeof holderSchema>;

/** No process has this start time, so its lock may be taken over. */
const UNREADABLE: Holder = { pid: 1, startTicks: -1 };

const isAlive = (holder: Holder): boolean => isSameProcessAlive(holder.pid, holder.startTicks);

async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return UNREADABLE;
  }
}

const ourselves = (): Holder => ({
  pid: process.pid,
  startTicks: processStat(process.pid)?.startTicks ?? 0,
});

/**
 * Removes the lock `$1` if it still holds `$2`, and the drafts of process `$3`. By the rule of `removeDead`, with its take-over
 * file (`set -C` makes it exclusive), so that a successor's lock stays.
 */
const GUARD = `rm -f -- "$1.$3."*; n=0
while [ $n -lt 15 ] && [ "$(cat "$1")" = "$2" ]; do
  if (set -C; : >"$1.takeover"); then
    [ "$(cat "$1")" = "$2" ] && rm -f -- "$1"
    rm -f -- "$1.takeover"
  else
    sleep 0.1
  fi
  n=$((n + 1))
done`;

/** The file appears with its content or not at all, hence a link and not an exclusive open. */
async function tryLock(path: string): Promise<boolean> {
  const mine = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await writeFile(mine, JSON.stringify(ourselves()));
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
    if (holder !== undefined && !isAlive(holder)) await unlink(path);
  } finally {
    await unlink(guard).catch(() => undefined);
  }
}

interface WaitOptions {
  signal?: AbortSignal | undefined;
  onWait?: ((pid: number) => void) | undefined;
}

/**
 * Runs `work` while holding the lock at `path`. Waits for a living holder, telling `onWait` its pid after 2 s and then every 30 s.
 * `signal` ends the waiting with the signal's reason.
 */
export async function withCacheLock<T>(
  path: string,
  work: () => Promise<T>,
  options: WaitOptions = {},
): Promise<T> {
  makeCacheFolder(dirname(path));
  const dismissGuard = guard(GUARD, [path, JSON.stringify(ourselves()), String(process.pid)]);
  try {
    await takeLock(path, options);
    try {
      return await work();
    } finally {
      await unlink(path).catch(() => undefined);
    }
  } finally {
    dismissGuard();
  }
}

async function takeLock(path: string, options: WaitOptions): Promise<void> {
  let nextWord = performance.now() + FIRST_WORD_MS;
  while (!(await tryLock(path))) {
    const holder = await readHolder(path);
    if (holder === undefined) continue;
    if (!isAlive(holder)) {
      await removeDead(path);
      await sleep(1);
      continue;
    }
    if (performance.now() >= nextWord) {
      options.onWait?.(holder.pid);
      nextWord += NEXT_WORD_MS;
    }
    options.signal?.throwIfAborted();
    await sleep(POLL_MS);
  }
}
