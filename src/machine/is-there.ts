/** Whether something lies at a path. */
import { lstat } from 'node:fs/promises';

/** True for a link that leads nowhere, too. */
export const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
