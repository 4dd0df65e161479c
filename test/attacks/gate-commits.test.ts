/** Runs of another head, or against another base, are offered to a gate. */
import { test } from 'node:test';
import type { GateSite } from '../fixtures/gate-site.js';
import { attacked, tryGate } from './try-gate.js';

test('a run of an earlier commit is replayed on a new head', async (t) => {
  const site = await attacked(t);
  await site.run('earlier');
  const head = site.change('slow now');
  await tryGate(
    t,
    site.options({ head }),
    { result: 'missing', code: 'stale-head' },
    {
      module: 'gate/judge-run',
      guard: 'against: [whyNotHead(input, statement)], notes: [], arms: []',
      instead: "against: [], notes: [], arms: ['head']",
    },
  );
});

test('a run against a base that main has left is replayed', async (t) => {
  const site = await attacked(t);
  await site.run('against the old base');
  site.repository.git('checkout', '--quiet', 'main');
  site.repository.write('kernels/b.h', '// main became faster\n');
  site.repository.commit('faster');
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'base-moved' },
    { module: 'gate/judge-run', guard: 'facts.behindBase <= policy.baseDrift', instead: 'true' },
  );
});

test('main changes the engine beside a waiver, by a name like one, and by a merge that takes an old side', async (t) => {
  const attempts: Record<string, (site: GateSite) => void> = {
    beside: ({ repository }) => {
      repository.write('waivers/a.waiver.json', '{}');
      repository.write('kernels/b.h', '// main became faster\n');
      repository.commit('both');
    },
    name: ({ repository }) => {
      repository.write('kernels/qualify.trust.json', '{}');
      repository.write('waivers/a.h', '// included\n');
      repository.commit('names');
    },
    merge: ({ repository, base }) => {
      const old = repository.git('rev-parse', `${base}^`);
      const merged = repository.git('commit-tree', `${old}^{tree}`, '-p', base, '-p', old, '-m', 'old side');
      repository.git('reset', '--quiet', '--hard', merged);
    },
  };
  for (const attempt of Object.values(attempts)) {
    const site = await attacked(t);
    site.repository.git('checkout', '--quiet', 'main');
    site.repository.write('kernels/c.h', '// one\n');
    site.base = site.repository.commit('an engine');
    await site.run('against the old base');
    attempt(site);
    // Without its words for what is left out, git is told to leave out everything.
    const guard = "':(top)',";
    await tryGate(
      t,
      site.options(),
      { result: 'missing', code: 'base-moved' },
      { module: 'gate/commits', guard, instead: "':(top)', ':(top,exclude,glob)**'," },
    );
  }
});

test('a run against a base that main has left is replayed where the environment says how git reads paths', async (t) => {
  const site = await attacked(t);
  await site.run('against the old base');
  site.repository.git('checkout', '--quiet', 'main');
  site.repository.write('kernels/b.h', '// main became faster\n');
  site.repository.commit('faster');
  // `:(top)` is then a file of that name, which no commit has: all look equal.
  process.env.GIT_LITERAL_PATHSPECS = '1';
  t.after(() => delete process.env.GIT_LITERAL_PATHSPECS);
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'base-moved' },
    { module: 'revision/git', guard: "!name.startsWith('GIT_')", instead: 'true' },
  );
});

test('a run against a base of the attacker, who made it slow, is offered', async (t) => {
  const site = await attacked(t);
  site.repository.git('checkout', '--quiet', '-b', 'slow-base', 'main');
  const slow = site.change('slow base');
  site.repository.git('checkout', '--quiet', 'change');
  await site.run('against a slow base', { revisions: { base: slow, head: site.head } });
  await tryGate(
    t,
    site.options(),
    { result: 'missing', code: 'base-moved' },
    { module: 'gate/judge-run', guard: 'facts.behindBase === null', instead: 'false' },
  );
});
