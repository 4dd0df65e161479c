import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { QualifyError } from '../../src/errors.js';
import { makeCacheFolder, makeFolder } from '../../src/make-folder.js';
import { scratchFolder } from '../support/folder.js';

test('makes what is missing, and takes what is there', async (context) => {
  const path = join(await scratchFolder(context), 'a', 'b');
  makeFolder(path);
  makeFolder(path);
  assert.ok(statSync(path).isDirectory());
});

test('fails where no folder can be made', async (context) => {
  assert.throws(() => makeFolder('/proc/none/x'), /ENOENT/);
  const file = join(await scratchFolder(context), 'file');
  writeFileSync(file, '');
  assert.throws(() => makeFolder(join(file, 'x')), /ENOTDIR/);
});

test('names the remedy for the cache', () => {
  assert.throws(
    () => makeCacheFolder('/proc/none/x'),
    (error) =>
      error instanceof QualifyError && error.exitCode === 15 && /XDG_CACHE_HOME/.test(error.hint ?? ''),
  );
});
