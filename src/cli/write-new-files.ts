/** Several new files, all of them or none. */
import { randomUUID } from 'node:crypto';
import { link, lstat, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { QualifyError } from '../errors.js';
import { isThere } from '../machine/is-there.js';
import { makeFolder } from '../make-folder.js';

interface NewFile {
  /** Below the root. */
  path: string;
  text: string;
}

/** @throws QualifyError ERR_QUALIFY_EXISTS (exit 64) that names every file which is there already */
export async function refuseExisting(root: string, files: readonly NewFile[]): Promise<void> {
  const there: string[] = [];
  for (const { path } of files) if (await isThere(join(root, path))) there.push(path);
  if (there.length > 0) throw exists(there);
}

const exists = (paths: readonly string[], cause?: unknown): QualifyError =>
  new QualifyError('ERR_QUALIFY_EXISTS', `there already: ${paths.join(', ')}; nothing was written`, {
    exit: 'usage',
    hint: 'Move them away, or replace them: --force',
    cause,
  });

/** A link on the way would have the files written elsewhere, outside of the root perhaps. */
async function refuseLinks(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder))
    if ((await lstat(join(root, folder)).catch(() => null))?.isSymbolicLink())
      throw new QualifyError('ERR_QUALIFY_EXISTS', `${folder} is a link; nothing was written`, {
        exit: 'usage',
        where: join(root, folder),
        hint: 'Put a folder in its place: what is written belongs into the repository.',
      });
}

/**
 * Writes all files or none. Without `replace` a file that turned up meanwhile is left as it is; with it, files are replaced one by one.
 * @throws QualifyError ERR_QUALIFY_EXISTS (exit 64), ERR_QUALIFY_INIT (exit 15) with what the system says
 */
export async function writeNewFiles(
  root: string,
  files: readonly NewFile[],
  replace: boolean,
): Promise<void> {
  const drafts: { draft: string; path: string; name: string }[] = [];
  const placed: string[] = [];
  try {
    for (const { path: name, text } of files) {
      const path = join(root, name);
      await refuseLinks(root, name);
      makeFolder(dirname(path));
      const draft = `${path}.${randomUUID()}.partial`;
      drafts.push({ draft, path, name });
      await writeFile(draft, text, { flag: 'wx' });
    }
    for (const { draft, path, name } of drafts) {
      if (replace) await rename(draft, path);
      else
        await link(draft, path).catch((cause) => {
          throw cause.code === 'EEXIST' ? exists([name], cause) : cause;
        });
      placed.push(path);
    }
  } catch (cause) {
    if (!replace) for (const path of placed) await rm(path, { force: true });
    if (cause instanceof QualifyError || !(cause instanceof Error && 'code' in cause)) throw cause;
    throw new QualifyError('ERR_QUALIFY_INIT', `the files cannot be written below ${root}`, {
      exit: 'infrastructure',
      where: cause.message,
      hint: 'See that its folders can be written to.',
      cause,
    });
  } finally {
    for (const { draft } of drafts) await rm(draft, { force: true });
  }
}
