/** Git answers for the repository and the objects that were named, whatever its environment and its replacements say. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, describe, test } from 'node:test';
import { fileAt, git, gitEnvironment } from '../../../src/revision/git.js';
import { removeFolder } from '../../support/folder.js';
import { Repository } from '../../support/repository.js';
import { scratchRoot } from '../../support/scratch-root.js';

const folder = mkdtempSync(join(scratchRoot, 'qualify-git-'));
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

describe('of the environment', () => {
  const before = { ...process.env };
  afterEach(() => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  });

  /** Variables that git lists as those of one repository, except settings, and others by which it answers otherwise. */
  const names = [
    ...execFileSync('git', ['rev-parse', '--local-env-vars'], { encoding: 'utf8' })
      .split('\n')
      .filter((name) => name !== '' && !name.startsWith('GIT_CONFIG_')),
    ...['GIT_LITERAL_PATHSPECS', 'GIT_GLOB_PATHSPECS', 'GIT_NOGLOB_PATHSPECS', 'GIT_ICASE_PATHSPECS'],
    ...['GIT_CEILING_DIRECTORIES', 'GIT_EXTERNAL_DIFF', 'GIT_DIFF_OPTS', 'GIT_NAMESPACE', 'GIT_ATTR_SOURCE'],
    'GIT_NOT_THOUGHT_OF_YET',
  ];

  for (const name of names)
    test(`${name} is not passed on`, async () => {
      process.env[name] = '/nowhere';
      assert.notEqual(gitEnvironment()[name], '/nowhere');
      assert.equal((await fileAt(repository.folder, base, 'rules'))?.toString(), 'strict\n');
      assert.equal(await git(repository.folder, 'rev-list', '--count', other), '2');
    });

  for (const name of ['GIT_LITERAL_PATHSPECS', 'GIT_ICASE_PATHSPECS'])
    test(`${name} does not change what a path means`, async () => {
      process.env[name] = '1';
      const rules = ['diff-tree', '--name-only', base, other, '--', ':(top)'];
      assert.equal(await git(repository.folder, ...rules), 'rules');
      assert.equal(await git(repository.folder, 'ls-files', '--', 'RULES'), '');
    });

  test('what reaches a remote, traces, and says settings is passed on', () => {
    const kept = {
      GIT_SSH_COMMAND: 'ssh -i key',
      GIT_ASKPASS: 'ask',
      GIT_SSL_CAINFO: 'ca.pem',
      GIT_HTTP_USER_AGENT: 'us',
      GIT_TRACE2_EVENT: '/trace',
      GIT_EXEC_PATH: '/git-core',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_GLOBAL: '/settings',
      HOME: '/home/us',
    };
    const passed = gitEnvironment({ ...kept, GIT_TERMINAL_PROMPT: '1', GIT_CONFIG: '/x', GIT_SSHX: 'x' });
    assert.deepEqual(passed, {
      ...kept,
      GIT_TERMINAL_PROMPT: '0',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_GRAFT_FILE: '/dev/null/none',
      LC_ALL: 'C',
    });
  });
});
