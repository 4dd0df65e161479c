import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { partialName, removeStalePartials } from '../../../src/engine/partial-model.js';
import { scratchFolder } from '../../support/folder.js';

test('removes what dead processes left of the same model, and nothing else', async (context) => {
  const folder = await scratchFolder(context);
  const out = join(folder, 'a.gguf');
  const { pid: dead } = spawnSync('true');
  const kept = ['a.gguf', `a.gguf.partial-${process.pid}`, `b.gguf.partial-${dead}`, 'a.gguf.partial-x'];
  for (const name of [...kept, `a.gguf.partial-${dead}`, `.a.gguf.partial-${dead}.partial-${dead}`]) {
    await writeFile(join(folder, name), '');
  }
  assert.equal((await removeStalePartials(out)).length, 2);
  assert.deepEqual((await readdir(folder)).sort(), kept.sort());
  assert.equal(partialName(out), join(folder, `a.gguf.partial-${process.pid}`));
});

test('has nothing to remove where there is no folder', async (context) => {
  assert.deepEqual(await removeStalePartials(join(await scratchFolder(context), 'none', 'a.gguf')), []);
});
