import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parentsOf, subjectOf } from '../../../src/bisect/range.js';
import { callGit } from '../../../src/revision/git.js';
import { scratchFolder } from '../../support/folder.js';
import { Repository } from '../../support/repository.js';

test('reads a signed commit whatever the user likes git to show', async (t) => {
  const folder = await scratchFolder(t);
  const key = join(folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key]);
  const repository = new Repository(join(folder, 'repository'));
  for (const [name, value] of [
    ['gpg.format', 'ssh'],
    ['user.signingKey', key],
    ['gpg.ssh.allowedSignersFile', join(folder, 'signers')],
    ['commit.gpgSign', 'true'],
    ['log.showSignature', 'true'],
    ['log.decorate', 'full'],
    ['color.ui', 'always'],
    ['i18n.logOutputEncoding', 'latin1'],
  ] as const)
    repository.git('config', name, value);
  repository.write('../signers', `test@example.org ${readFileSync(`${key}.pub`, 'utf8')}`);
  const root = repository.commit('root');
  const head = repository.commit('größer\n\nmore words');
  assert.match(repository.git('show', '--no-patch', '--format=%P', head), /Good "git" signature/);

  assert.deepEqual(await parentsOf(repository.folder, head), [root]);
  assert.deepEqual(await parentsOf(repository.folder, root), []);
  assert.equal(await subjectOf(repository.folder, head), 'größer');
  const shown = await callGit(repository.folder, 'show', '--no-patch', '--format=%P', head);
  assert.equal(shown.stdout, root, 'no git that we call shows signatures');
});
