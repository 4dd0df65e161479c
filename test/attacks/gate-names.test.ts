/** Names in git that stand for another commit, and histories that are cut short. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import type { GateSite } from '../fixtures/gate-site.js';
import { attacked, codesOf, losing, requirement, tryGate, tryUsage } from './try-gate.js';

describe('names that stand for another commit', () => {
  /** A commit with rules that protect less, which a tag is put on. */
  async function evil(site: GateSite): Promise<string> {
    await site.run('losing', losing);
    site.repository.git('checkout', '--quiet', '-b', 'evil', 'main');
    site.writeRules({ baseDrift: 9, require: [{ ...requirement, cells: ['64/32'] }] });
    const commit = site.repository.commit('fewer cells');
    site.repository.git('checkout', '--quiet', 'change');
    site.repository.git('branch', '--quiet', '-D', 'evil');
    return commit;
  }

  test('a tag is called like the branch of the remote', async (t) => {
    const site = await attacked(t);
    const commit = await evil(site);
    site.repository.git('update-ref', 'refs/remotes/origin/main', site.base);
    site.repository.git('tag', 'origin/main', commit);
    await tryGate(
      t,
      site.options(),
      { result: 'fail' },
      {
        module: 'gate/commits',
        guard: 'commitAt(repository, ref)',
        instead: "tryGit(repository, 'rev-parse', name)",
      },
    );
    const named = {
      module: 'revision/commit-at',
      guard: '/refname .* is ambiguous/.test',
      instead: '/(?!)/.test',
    };
    await tryUsage(
      t,
      site.options({ base: 'origin/main' }),
      /more than one thing.*refs\/tags\/origin\/main[\s\S]*in full/,
      named,
    );
    const inFull = await site.gate({ base: 'refs/remotes/origin/main' });
    assert.equal(inFull.result, 'fail');
  });

  test('a tag is called like the branch of the change', async (t) => {
    const site = await attacked(t);
    await site.run('good');
    site.repository.git('tag', 'change', site.head);
    site.change('slow now');
    await tryUsage(t, site.options({ head: 'change' }), /"change" stands for more than one thing/, {
      module: 'revision/commit-at',
      guard: '/refname .* is ambiguous/.test',
      instead: '/(?!)/.test',
    });
    assert.equal((await site.gate({ head: 'refs/heads/change' })).result, 'missing');
  });

  test('git is told to read another commit in the place of the base', async (t) => {
    const site = await attacked(t);
    const commit = await evil(site);
    site.repository.git('replace', site.base, commit);
    await tryGate(
      t,
      site.options(),
      { result: 'fail' },
      {
        module: 'revision/git',
        guard: "GIT_NO_REPLACE_OBJECTS: '1',",
        instead: '',
      },
    );
  });
});

test('a shallow clone does not see how far main went on', async (t) => {
  const site = await attacked(t, { policy: { baseDrift: 5 } });
  const { repository } = site;
  await site.run('good');
  repository.git('checkout', '--quiet', '--orphan', 'side');
  for (let commit = 0; commit < 9; commit++) {
    repository.write('kernels/side.h', `// ${commit}\n`);
    repository.commit(`side ${commit}`);
  }
  repository.git('checkout', '--quiet', 'main');
  repository.git('merge', '--quiet', '--allow-unrelated-histories', '-X', 'ours', '-m', 'merge', 'side');
  repository.git('checkout', '--quiet', 'change');
  assert.ok(codesOf(await site.gate()).includes('base-moved'));
  const shallow = `${repository.folder}-shallow`;
  const url = `file://${repository.folder}`;
  execFileSync('git', ['clone', '--quiet', '--no-single-branch', '--depth', '2', url, shallow]);
  const options = { repository: shallow, base: 'origin/main' };
  await tryUsage(t, site.options(options), /shallow[\s\S]*fetch --unshallow/, {
    module: 'gate/commits',
    guard: 'if (statements.some(isElsewhere)',
    instead: 'if (false',
  });
});
