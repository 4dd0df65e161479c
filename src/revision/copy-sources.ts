/** The sources of an engine, copied to another place to be built there once more. */
import { cp } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { BUILD_FOLDER, SOURCE_FOLDERS } from './source-tree.js';

/** Copies `native/` and `kernels/` of `from` into `to`, without what was built there. Links stay as they are. */
export async function copySources(from: string, to: string): Promise<void> {
  for (const folder of SOURCE_FOLDERS) {
    await cp(join(from, folder), join(to, folder), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => path === join(from, folder) || !BUILD_FOLDER.test(basename(path)),
    });
  }
}
