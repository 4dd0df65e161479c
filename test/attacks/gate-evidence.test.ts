/**
 * More ways past a gate: what a run says of itself, names that stand for another commit, runs that are measured again or put where nobody
 * looks. Each succeeds where its guard is missing.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { decide } from '../../src/gate/decide.js';
import { gate, gather } from '../../src/gate/gate.js';
import { matrixDigest } from '../../src/matrix/digest.js';
import type { Challenge } from '../../src/plan/challenge.js';
import type { Plan } from '../../src/plan/schema.js';
import { type GateSite, MACHINE, trusted } from '../fixtures/gate-site.js';
import { attacked, codesOf, losing, tryGate, tryUsage } from './try-gate.js';
import { importWithout } from './without-guard.js';

const widen = (plan: Plan): void => {
  plan.budgets = { prefill: 30, decode: 30 };
  for (const cell of plan.cells) cell.marginPercent = 30;
};
const later = { startedAt: '2026-11-29T14:00:00Z' };
const requirement = { matrix: 'fixture', file: 'matrices/fixture.yaml', machine: 'any' };

test('a run of wider budgets claims the digest of the matrix that is required', async (t) => {
  const site = await attacked(t);
  const { matrices } = await gather(site.options());
  const [matrix] = matrices;
  assert.ok(matrix);
  await site.run('wide', {
    ...losing,
    alterPlan: (plan) => {
      widen(plan);
      plan.matrix.digest = matrixDigest(matrix);
    },
  });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'wrong-matrix' },
    {
      module: 'gate/judge-requirement',
      guard: 'if (differenceFrom(matrix, plan) === null)',
      instead: `if (plan.matrix.digest === '${matrixDigest(matrix)}')`,
    },
  );
});

test('a policy cannot name a matrix by a digest, which no plan proves', async (t) => {
  const site = await attacked(t);
  site.repository.git('checkout', '--quiet', 'main');
  site.writeRules({ require: [{ matrix: 'fixture', digest: 'a'.repeat(64), machine: 'any' }] });
  site.repository.commit('by digest');
  await assert.rejects(site.gate(), /digest/);
});

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
        guard: 'commitAt(repository, branch.ref)',
        instead: "tryGit(repository, 'rev-parse', branch.name)",
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

describe('a failed run of this head is measured again until it passes', () => {
  const excused = {
    module: 'gate/judge-run',
    guard: 'const isBad = against.length > 0 &&',
    instead: 'const isBad = false &&',
  };

  test('after main moved on', async (t) => {
    const site = await attacked(t);
    await site.run('failed', losing);
    site.repository.git('checkout', '--quiet', 'main');
    site.repository.write('kernels/other.h', '// another engine\n');
    site.base = site.repository.commit('another engine');
    site.repository.git('checkout', '--quiet', 'change');
    await site.run('passed', later);
    await tryGate(t, site.options(), { result: 'fail', code: 'only-against' }, excused);
  });

  test('after the failed run grew old', async (t) => {
    const site = await attacked(t, { policy: { maxAgeDays: 1 } });
    await site.run('failed', { ...losing, startedAt: '2026-11-29T11:00:00Z' });
    await site.run('passed', later);
    await tryGate(t, site.options(), { result: 'fail', code: 'only-against' }, excused);
  });

  test('and the clock of the failed run was ahead', async (t) => {
    const site = await attacked(t);
    await site.run('failed', { ...losing, startedAt: '2026-11-30T12:06:00Z' });
    await site.run('passed', later);
    await tryGate(t, site.options(), { result: 'fail', code: 'only-against' }, excused);
  });

  test('but what passed in it is stale, and its failure can be waived', async (t) => {
    const site = await attacked(t, { policy: { maxAgeDays: 1 } });
    await site.run('failed', { ...losing, startedAt: '2026-11-29T11:00:00Z' });
    await site.waive('96/32');
    const alone = await site.gate();
    assert.equal(alone.result, 'missing');
    assert.deepEqual(
      alone.requirements[0]?.cells.map(({ id, result }) => [id, result]),
      [['96/32', 'waived']],
    );
    assert.ok(alone.requirements[0]?.reasons.some(({ code }) => code === 'only-against'));
    await site.run('passed', later);
    assert.equal((await site.gate()).result, 'waived');
  });

  test('a key that does not count is not heard against a change either', async (t) => {
    const site = await attacked(t, { policy: { maxAgeDays: 1 } });
    await site.run('by a stranger', { ...losing, key: site.stranger, startedAt: '2026-11-29T11:00:00Z' });
    await site.run('passed', later);
    assert.equal((await site.gate()).result, 'pass');
    const input = await gather(site.options());
    input.policy.maxAgeDays = 14;
    // Nor one that was revoked, behind a clock that is ahead.
    const bad = await attacked(t);
    await bad.run('failed', { ...losing, startedAt: '2026-11-30T12:06:00Z' });
    await bad.run('passed', later);
    const revoked = await gather(bad.options());
    for (const key of revoked.trust.keys)
      key.revoked = { since: '2026-11-30T12:00:00Z', reason: 'superseded' };
    assert.equal(decide(revoked).result, 'pass');
  });
});

describe('a run is put where the gate does not look', () => {
  const losingRun = (site: GateSite, name: string): Promise<string> => site.run(name, losing);

  test('below a folder that says that it is a run', async (t) => {
    const site = await attacked(t);
    await site.run('good', later);
    await losingRun(site, 'lab/bad');
    writeFileSync(join(site.manifests, 'lab', 'plan.json'), '');
    await tryGate(
      t,
      site.options(),
      { result: 'fail', code: 'unfinished' },
      {
        module: 'gate/find-runs',
        guard: 'if (own.run !== null)',
        instead: 'if (own)',
      },
    );
  });

  test('three folders deep it is found, and deeper it is told', async (t) => {
    const site = await attacked(t);
    await site.run('good', later);
    await losingRun(site, 'a/b/c/bad');
    await tryGate(
      t,
      site.options(),
      { result: 'fail' },
      {
        module: 'gate/find-runs',
        guard: 'const DEPTH = 4;',
        instead: 'const DEPTH = 2;',
      },
    );
    mkdirSync(join(site.manifests, 'x/y/z/u'), { recursive: true });
    renameSync(join(site.manifests, 'a/b/c/bad'), join(site.manifests, 'x/y/z/u/bad'));
    await told(site, 'x/y/z/u/bad');
  });

  /** It is in the evidence, and counts for nothing. */
  async function told(site: GateSite, path: string): Promise<void> {
    const { evidence, result } = await site.gate();
    assert.equal(result, 'pass');
    const found = evidence.find((one) => one.path === join(site.manifests, path));
    assert.deepEqual([found?.counts, found?.reasons.map(({ code }) => code)], [false, ['not-looked-at']]);
  }

  test('behind a link, or in an archive of another kind, it is told', async (t) => {
    const site = await attacked(t);
    await site.run('good', later);
    const bad = await losingRun(site, '../bad');
    symlinkSync(bad, join(site.manifests, 'linked'));
    await told(site, 'linked');
    for (const name of ['run.tar.gz', 'run.TAR', 'run.tgz', 'run.zip']) {
      writeFileSync(join(site.manifests, name), 'x');
      await told(site, name);
    }
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

test('a policy with a control character in a path is refused as one', async (t) => {
  const site = await attacked(t);
  site.repository.git('checkout', '--quiet', 'main');
  for (const rules of [{ trust: 'a\0b' }, { require: [{ ...requirement, file: 'a\0b' }] }]) {
    site.writeRules(rules);
    site.repository.commit('a path');
    await assert.rejects(site.gate(), { name: 'QualifyError', code: 'ERR_QUALIFY_POLICY', exitCode: 64 });
  }
});

describe('one signer speaks for several machines', () => {
  const second = { machine: { id: 'e'.repeat(64) } };

  test('to be as many as are asked for', async (t) => {
    const site = await attacked(t, { policy: { require: [{ ...requirement, machinesAtLeast: 2 }] } });
    await site.run('one');
    await site.run('two', second);
    await tryGate(
      t,
      site.options(),
      { result: 'missing' },
      {
        module: 'gate/distinct-machines',
        guard: 'if (tried.has(keyId))',
        instead: 'keyOf.set(machineId, keyId); return true; if (false)',
      },
    );
    const both = [trusted(site.observer, 'observer'), trusted(site.stranger, 'observer')];
    const input = await gather(site.options());
    input.trust = { ...input.trust, keys: both };
    assert.equal(decide(input).result, 'missing');
    await site.run('three', { ...second, key: site.stranger });
    const other = await gather(site.options());
    other.trust = { ...other.trust, keys: both };
    assert.equal(decide(other).result, 'pass');
  });

  test('as one whose id is in the class, by a key that is bound to no machine', async (t) => {
    const site = await attacked(t, { policy: { machines: { any: { ids: [MACHINE] } } } });
    await site.run('claimed');
    await tryGate(
      t,
      site.options(),
      { result: 'missing', code: 'unbound-key' },
      {
        module: 'gate/judge-requirement',
        guard: 'key.machines === undefined',
        instead: 'false',
      },
    );
    const input = await gather(site.options());
    for (const key of input.trust.keys) key.machines = [MACHINE];
    assert.equal(decide(input).result, 'pass');
  });
});

test('a failing answer to a challenge is held back: the decision says which question got none', async (t) => {
  const site = await attacked(t);
  await site.run('good');
  const input = await gather(site.options());
  const challenge: Challenge = {
    ...{ schemaVersion: 1, nonce: 'n'.repeat(43), repository: 'https://example.org/engine', pullRequest: 7 },
    ...{ head: site.head, base: site.base, policy: null },
    matrix: { name: 'fixture', digest: 'a'.repeat(64) },
    issuedAt: '2026-11-29T11:00:00.000Z',
    expiresAt: '2026-11-30T11:00:00.000Z',
  };
  const { reasons } = decide({ ...input, challenges: [challenge] });
  assert.deepEqual(
    reasons.map(({ code }) => code),
    ['unanswered'],
  );
  assert.match(reasons[0]?.message ?? '', /2026-11-29T11:00:00.000Z for [0-9a-f]{12} and fixture/);
  const run = input.runs[0]?.run;
  assert.ok(run);
  run.plan.challenge = challenge;
  assert.deepEqual(decide({ ...input, challenges: [challenge] }).reasons, []);
});

test('a cell that is not protected fails: it decides nothing, and is told', async (t) => {
  const site = await attacked(t, { policy: { require: [{ ...requirement, cells: ['64/32'] }] } });
  await site.run('losing', losing);
  const decision = await gate(site.options());
  assert.equal(decision.result, 'pass');
  assert.deepEqual(decision.requirements[0]?.reasons, [
    { code: 'other-cells', message: 'other cells failed: 96/32' },
  ]);
  const { renderJunit } = await import('../../src/gate/junit.js');
  assert.doesNotMatch(renderJunit(decision), /<failure|<error/);
  assert.match(renderJunit(decision), /other cells failed: 96\/32/);
});

// The guard of the last is what it prints; there is nothing to take out but the words.
test('without its words that decision would say nothing of it', async (t) => {
  const site = await attacked(t, { policy: { require: [{ ...requirement, cells: ['64/32'] }] } });
  await site.run('losing', losing);
  const silent = await importWithout<{ gate: typeof gate }>(t, 'gate/gate', {
    module: 'gate/decide',
    guard: 'others.size === 0',
    instead: 'true',
  });
  assert.deepEqual((await silent.gate(site.options())).requirements[0]?.reasons, []);
});
