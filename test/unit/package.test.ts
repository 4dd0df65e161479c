import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';

/** What is packed of a folder of the repository. */
const below = (packed: readonly string[], folder: string): string[] =>
  packed.filter((path) => path.startsWith(`${folder}/`));

/** Files below a folder of the repository. */
const filesOf = (folder: string): string[] =>
  readdirSync(join(harnessFolder, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(harnessFolder.length).replace(/^\//, ''));

test('the package has what runs and is built, and nothing else', () => {
  const text = execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], {
    cwd: harnessFolder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ files }] = JSON.parse(text) as [{ files: { path: string }[] }];
  const packed = files.map(({ path }) => path);
  assert.deepEqual(
    packed.filter((path) =>
      /\.map$|^(native|kernels)\/(test|build)|^docs\/images|^manifests|^test|schemas\/write\.js$|write-man-page\.js$/.test(
        path,
      ),
    ),
    [],
  );
  const needed = ['bin/qualify.js', 'action.yml', 'docs/qualify.1', 'peers/llama-cpp/package-lock.json'];
  for (const path of needed) assert.ok(packed.includes(path), path);
  for (const folder of ['matrices', 'docs/schemas', 'docs/examples'])
    assert.deepEqual(below(packed, folder).toSorted(), filesOf(folder).toSorted(), folder);
  for (const folder of ['native', 'kernels'])
    assert.deepEqual(
      below(packed, folder).toSorted(),
      filesOf(folder)
        .filter((path) => !/^\w+\/(test|build[^/]*)\//.test(path))
        .toSorted(),
    );
  const compiled = filesOf('dist/src').filter((path) => /\.js$/.test(path));
  assert.equal(below(packed, 'dist/src').length, compiled.length - 2);
});
