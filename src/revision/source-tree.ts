/** The digest of an engine's sources: what a build depends on, and nothing else of the repository. */
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { QualifyError } from '../errors.js';

/** The folders of a revision that a build is made of. */
export const SOURCE_FOLDERS = ['kernels', 'native'] as const;

/**
 * Folders below those that no engine is built from: the C++ tests and the suite of kernels. A change of them makes no
 * other engine.
 */
export const TEST_FOLDERS: readonly string[] = [
  ...SOURCE_FOLDERS.map((folder) => `${folder}/test`),
  'kernels/suite',
];

/** Folders of builds, which are no sources. */
export const BUILD_FOLDER = /^build(-.*)?$/;

async function listFiles(root: string, relative: string, leftOut: readonly string[]): Promise<string[]> {
  const entries = await readdir(join(root, relative), { withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    const path = `${relative}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!BUILD_FOLDER.test(entry.name) && !leftOut.includes(path))
        found.push(...(await listFiles(root, path, leftOut)));
    } else {
      found.push(path);
    }
  }
  return found;
}

/**
 * SHA-256 over `<kind> <path> NUL <sha256 of the content> LF` of every file below `native/` and `kernels/`, in the
 * order of the path's bytes. `kind` is `file` or `link`. Build folders are left out, and what an engine is not made of.
 * @throws ERR_QUALIFY_NO_ENGINE_SOURCES when `sourceFolder` is not an engine of ours.
 */
export async function sourceTreeDigest(
  sourceFolder: string,
  leftOut: readonly string[] = TEST_FOLDERS,
): Promise<string> {
  const paths: string[] = [];
  for (const folder of SOURCE_FOLDERS) {
    const list = await listFiles(sourceFolder, folder, leftOut).catch((error: unknown) => {
      throw new QualifyError(
        'ERR_QUALIFY_NO_ENGINE_SOURCES',
        `${sourceFolder} has no readable folder ${folder}/`,
        {
          exit: 'infrastructure',
          hint: 'name a revision of a repository that holds native/ and kernels/',
          cause: error,
        },
      );
    });
    paths.push(...list);
  }
  const total = createHash('sha256');
  for (const path of paths.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    const full = join(sourceFolder, path);
    const isLink = (await lstat(full)).isSymbolicLink();
    const content = isLink ? await readlink(full) : await readFile(full);
    const digest = createHash('sha256').update(content).digest('hex');
    total.update(`${isLink ? 'link' : 'file'} ${path}\0${digest}\n`);
  }
  return total.digest('hex');
}
