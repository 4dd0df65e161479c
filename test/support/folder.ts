/** Scratch folders that go away with the test that made them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A new empty folder, removed when the test ends. */
export async function scratchFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'qualify-test-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
