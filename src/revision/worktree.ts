/**
 * Git worktrees for building a commit: outside the working tree, in the cache folder, locked while they live, gone afterwards. Each
 * has a guard that removes it when the harness is killed, and an owner file that names the process it belongs to, so that the next
 * session clears up where even the guard was killed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { cacheFolder } from '../harness.js';
import { guard, repeatedly } from '../machine/guard.js';
import { isSameProcessAlive, processStat } from '../machine/procfs.js';
import { makeCacheFolder } from '../make-folder.js';
import { git, gitEnvironment, tryGit } from './git.js';

const ownerSchema = z.object({ pid: z.int(), startTicks: z.number(), repository: z.string() });

interface Worktree {
  readonly folder: string;
  /** Safe to call twice. */
  remove(): Promise<void>;
}

const OWNER = '.owner.json';
const worktreesFolder = (): string => join(cacheFolder(), 'worktrees');
const ownerPath = (folder: string): string => `${folder}${OWNER}`;
/** Twice, because the worktree is locked. */
const REMOVE = ['worktree', 'remove', '--force', '--force'];

/** `$1` is the repository, `$2` the folder, `$3` its owner file. Git may still be adding it when we die. */
const GUARD = repeatedly(
  [
    `git -C "$1" ${REMOVE.join(' ')} "$2"`,
    'rm -rf -- "$2"',
    'git -C "$1" worktree unlock "$2"',
    'git -C "$1" worktree prune',
    'rm -f -- "$3"',
  ].join('; '),
);

interface Mine {
  repository: string;
  dismissGuard: () => void;
}

const mine = new Map<string, Mine>();

async function remove(repository: string, folder: string): Promise<void> {
  // The repository may be gone, or git may have been killed before it knew the worktree: the folder goes either way.
  if (existsSync(repository)) await tryGit(repository, ...REMOVE, folder);
  rmSync(folder, { recursive: true, force: true });
  if (existsSync(repository)) {
    await tryGit(repository, 'worktree', 'unlock', folder);
    await tryGit(repository, 'worktree', 'prune');
  }
  rmSync(ownerPath(folder), { force: true });
  mine.get(folder)?.dismissGuard();
  mine.delete(folder);
}

/** Checks out `commit` with its submodules. `name` has to be unique on this machine. */
export async function addWorktree(repository: string, commit: string, name: string): Promise<Worktree> {
  const folder = join(worktreesFolder(), name);
  makeCacheFolder(worktreesFolder());
  mine.set(folder, {
    repository,
    dismissGuard: guard(GUARD, [repository, folder, ownerPath(folder)], gitEnvironment()),
  });
  const startTicks = processStat(process.pid)?.startTicks ?? 0;
  writeFileSync(ownerPath(folder), JSON.stringify({ pid: process.pid, startTicks, repository }));
  try {
    const reason = `qualify ${name}, pid ${process.pid}`;
    await git(
      repository,
      'worktree',
      'add',
      '--quiet',
      '--detach',
      '--lock',
      '--reason',
      reason,
      folder,
      commit,
    );
    if (existsSync(join(folder, '.gitmodules'))) {
      await git(folder, 'submodule', 'update', '--init', '--recursive', '--quiet');
    }
  } catch (error) {
    await remove(repository, folder);
    throw error;
  }
  return { folder, remove: () => remove(repository, folder) };
}

/** Removes the worktrees of processes that are no more; answers their folders. */
export async function removeStaleWorktrees(): Promise<string[]> {
  if (!existsSync(worktreesFolder())) return [];
  const removed: string[] = [];
  for (const file of readdirSync(worktreesFolder()).filter((name) => name.endsWith(OWNER))) {
    const folder = join(worktreesFolder(), file.slice(0, -OWNER.length));
    const owner = readOwner(ownerPath(folder));
    if (owner !== null && isSameProcessAlive(owner.pid, owner.startTicks)) continue;
    await remove(owner?.repository ?? '', folder);
    removed.push(folder);
  }
  return removed;
}

function readOwner(path: string): z.infer<typeof ownerSchema> | null {
  try {
    return ownerSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/** Removes every worktree of this process without waiting. For the exit of the harness only. */
export function removeWorktreesNow(): void {
  for (const [folder, { repository, dismissGuard }] of mine) {
    spawnSync('git', ['-C', repository, ...REMOVE, folder], {
      env: gitEnvironment(),
      stdio: 'ignore',
    });
    rmSync(folder, { recursive: true, force: true });
    rmSync(ownerPath(folder), { force: true });
    dismissGuard();
  }
  mine.clear();
}
