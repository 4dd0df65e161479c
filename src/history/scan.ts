/** Looks for run folders, and takes the stamp by which a changed one is noticed. */
import { lstatSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../digest.js';
import { isThere } from '../machine/is-there.js';
import { MANIFEST_FILE, readRegular } from '../manifest/evidence-index.js';
import { JOURNAL_FILE, PLAN_FILE } from '../manifest/run-folder.js';

async function isRun(folder: string): Promise<boolean> {
  for (const file of [MANIFEST_FILE, PLAN_FILE, JOURNAL_FILE])
    if (await isThere(join(folder, file))) return true;
  return false;
}

/** Run folders in a folder, by name; the folder itself when it is one. None when it does not exist. */
export async function findRuns(folder: string): Promise<string[]> {
  if (await isRun(folder)) return [folder];
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && (await isRun(path))) found.push(path);
  }
  return found.toSorted();
}

/** Lines `kind path size time` of everything below a folder. Synchronous: a run has hundreds of files, and awaiting each takes several times as long. */
function listing(folder: string, inside = ''): string[] {
  return readdirSync(join(folder, inside), { withFileTypes: true }).flatMap((entry) => {
    const path = join(inside, entry.name);
    if (entry.isDirectory()) return listing(folder, path);
    const { size, mtimeMs } = lstatSync(join(folder, path));
    return [`${entry.isFile() ? 'file' : 'other'} ${path} ${size} ${mtimeMs}`];
  });
}

/** See `stamp` of a line of the index. @throws the system's error when the folder cannot be read */
export async function stampOf(runFolder: string): Promise<string> {
  const manifest = await readRegular(runFolder, MANIFEST_FILE).catch(() => Buffer.alloc(0));
  return sha256([sha256(manifest), ...listing(runFolder).toSorted()].join('\n'));
}
