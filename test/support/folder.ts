/** Scratch folders that go away with the test that made them. */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.js';
import { scratchRoot } from './scratch-root.js';

/** A new empty folder, removed when the test ends. */
export async function scratchFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(scratchRoot, 'qualify-test-'));
  context.after(() => removeFolder(folder));
  return folder;
}

/** Removes a folder in which a process that was killed, or its guard, may still write for a moment. */
export function removeFolder(folder: string): Promise<void> {
  const isGone = (): boolean => {
    try {
      rmSync(folder, { recursive: true, force: true });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false;
      throw error;
    }
  };
  return eventually(isGone, `${folder} is empty`);
}
