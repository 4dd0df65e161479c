/** The names of a model that is still being written, and what killed commands left under them. */
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { processStat } from '../machine/procfs.js';

/** Where a process writes a model until it is whole and has been read back. */
export const partialName = (out: string, pid: number = process.pid): string => `${out}.partial-${pid}`;

/**
 * Removes what processes that are gone left of making `out`, and answers the paths. The generator's file has no name until
 * it is written, or a hidden one where the file system cannot do that; it has the partial name while it is read back.
 */
export async function removeStalePartials(out: string): Promise<string[]> {
  const folder = dirname(out);
  const names = await readdir(folder).catch((): string[] => []);
  const stale = names.filter((name) => {
    const pid = /\.partial-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || processStat(Number(pid)) !== null) return false;
    const partial = partialName(basename(out), Number(pid));
    return name === partial || name === `.${partialName(partial, Number(pid))}`;
  });
  for (const name of stale) await rm(join(folder, name), { force: true });
  return stale.map((name) => join(folder, name));
}
