/** Git answers for the repository and the objects that were named, whatever its environment and its replacements say. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { fileAt, GIT_ENVIRONMENT, git } from '../../../src/revision/git.js';
import { removeFolder } from '../../support/folder.js';
import { Repository } from '../../support/repository.js';

const folder = mkdtempSync(join(tmpdir(), 'qualify-git-'));
after(() => removeFolder(folder));

const repository = new Repository(join(folder, 'repository'));
repository.write('rules', 'strict\n');
const base = repository.commit('one');
repository.write('rules', 'lax\n');
const other = repository.commit('two');

describe('a commit that stands for another', () => {
  test('by git replace is read as what it is', async () => {
    repository.git('replace', base, other);
    assert.equal(repository.git('show', `${base}:rules`), 'lax', 'what plain git believes');
    const read = await fileAt(repository.folder, base, 'rules');
    repository.git('replace', '--delete', base);
    assert.equal(read?.toString(), 'strict\n');
  });

  test('by a graft has its own parents', async () => {
    const grafts = join(repository.folder, '.git/info/grafts');
    mkdirSync(join(repository.folder, '.git/info'), { recursive: true });
    writeFileSync(grafts, `${other}\n`);
    assert.equal(repository.git('rev-list', '--count', other), '1', 'what plain git believes');
    const count = await git(repository.folder, 'rev-list', '--count', other);
    rmSync(grafts);
    assert.equal(count, '2');
  });
});

describe('in the environment of a hook', () => {
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  });

  /** Variables that git lists as those of one repository, except settings. */
  const names = execFileSync('git', ['rev-parse', '--local-env-vars'], { encoding: 'utf8' })
    .split('\n')
    .filter((name) => name !== '' && !name.startsWith('GIT_CONFIG') && name !== 'GIT_INTERNAL_SUPER_PREFIX');

  for (const name of names)
    test(`${name} is not passed on`, async () => {
      assert.ok(name in GIT_ENVIRONMENT);
      process.env[name] = '/nowhere';
      assert.equal((await fileAt(repository.folder, base, 'rules'))?.toString(), 'strict\n');
      assert.equal(await git(repository.folder, 'rev-list', '--count', other), '2');
    });
});
