import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { refuseExisting, writeNewFiles } from '../../../src/cli/write-new-files.js';
import { removeFolder } from '../../support/folder.js';
import { scratchRoot } from '../../support/scratch-root.js';

const folder = mkdtempSync(join(scratchRoot, 'qualify-new-'));
after(() => removeFolder(folder));

const files = [
  { path: 'a/one', text: '1' },
  { path: 'two', text: '2' },
];

test('a file that turned up after the look stays as it is, and those before it go again', async () => {
  const root = join(folder, 'late');
  mkdirSync(root);
  await refuseExisting(root, files);
  writeFileSync(join(root, 'two'), 'mine');
  await assert.rejects(writeNewFiles(root, files, false), { code: 'ERR_QUALIFY_EXISTS' });
  assert.equal(readFileSync(join(root, 'two'), 'utf8'), 'mine');
  assert.deepEqual(readdirSync(join(root, 'a')), []);
  assert.deepEqual(readdirSync(root).toSorted(), ['a', 'two']);
  await assert.rejects(refuseExisting(root, files), { code: 'ERR_QUALIFY_EXISTS' });
});

test('where asked for, files are replaced and no draft is left', async () => {
  const root = join(folder, 'replaced');
  mkdirSync(root);
  writeFileSync(join(root, 'two'), 'mine');
  await writeNewFiles(root, files, true);
  assert.equal(readFileSync(join(root, 'two'), 'utf8'), '2');
  assert.deepEqual([readdirSync(root).toSorted(), readdirSync(join(root, 'a'))], [['a', 'two'], ['one']]);
});

test('a folder that is a link is refused, with and without force, and nothing is written anywhere', async () => {
  const root = join(folder, 'linked');
  const outside = join(folder, 'outside');
  for (const path of [root, outside]) mkdirSync(path);
  symlinkSync(outside, join(root, 'a'));
  for (const replace of [false, true])
    for (const order of [files, files.toReversed()])
      await assert.rejects(writeNewFiles(root, order, replace), {
        code: 'ERR_QUALIFY_EXISTS',
        message: /^a is a link/,
      });
  assert.deepEqual([readdirSync(root), readdirSync(outside)], [['a'], []]);
});
