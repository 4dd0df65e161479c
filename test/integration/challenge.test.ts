/** `qualify challenge`, and sessions that answer one. The tiny engine builds in a second and cannot serve: its sessions end at the first launch. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { harnessFolder } from '../../src/harness.js';
import { type Challenge, challengeSchema, challengeSeed } from '../../src/plan/challenge.js';
import { planSchema } from '../../src/plan/schema.js';
import { Repository } from '../support/repository.js';
import { type CliResult, Home } from '../support/run-cli.js';

interface Scene {
  home: Home;
  base: string;
  head: string;
  matrix: string;
  /** Runs a command in the repository. */
  qualify: (...args: string[]) => Promise<CliResult>;
  /** Issues a challenge for the change, by `flags` too, and answers its path. */
  issue: (name: string, ...flags: string[]) => Promise<string>;
}

function branched(t: TestContext): Scene {
  const home = new Home();
  t.after(() => home.remove());
  const repository = new Repository(home.path('repository'));
  cpSync(join(harnessFolder, 'test/fixtures/tiny-engine'), repository.folder, { recursive: true });
  const base = repository.commit('base');
  repository.git('checkout', '--quiet', '-b', 'feature');
  repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 43;\n');
  const head = repository.commit('another answer');
  const matrix = home.fakeMatrix();
  const qualify = (...args: string[]): Promise<CliResult> =>
    home.start(args, { cwd: repository.folder }).finished;
  const issue = async (name: string, ...flags: string[]): Promise<string> => {
    const out = home.path(name);
    const asked = ['--repository', 'https://github.com/org/engine', '--head', 'feature', '--base', 'main'];
    const result = await qualify('challenge', ...asked, '--matrix', matrix, '--out', out, ...flags);
    assert.equal(result.exitCode, 0, result.stderr);
    return out;
  };
  return { home, base, head, matrix, qualify, issue };
}

const read = (path: string): Challenge => challengeSchema.parse(JSON.parse(readFileSync(path, 'utf8')));

describe('qualify challenge', () => {
  test('asks for commits, whole, for a time, and never the same twice', async (t) => {
    const { home, base, head, qualify, issue } = branched(t);
    const rules =
      'schemaVersion: 1\nmachines: { any: {} }\nrequire: [{ matrix: fake, file: fake.yaml, machine: any }]\n';
    writeFileSync(home.path('policy.yaml'), rules);
    const path = await issue('a.json', '--pr', '7', '--policy', home.path('policy.yaml'), '--valid', '12h');
    const challenge = read(path);
    assert.deepEqual([challenge.head, challenge.base, challenge.pullRequest], [head, base, 7]);
    assert.equal(challenge.policy, sha256(rules));
    assert.equal(Date.parse(challenge.expiresAt) - Date.parse(challenge.issuedAt), 12 * 3_600_000);
    const other = read(
      await issue('b.json', '--pr', '7', '--policy', home.path('policy.yaml'), '--valid', '12h'),
    );
    assert.notEqual(other.nonce, challenge.nonce);
    assert.notEqual(challengeSeed(other), challengeSeed(challenge));

    const anywhere = await home.run(
      ...['challenge', '--repository', 'x', '--head', head, '--base', base, '--matrix', 'smoke'],
    );
    assert.deepEqual(challengeSchema.parse(JSON.parse(anywhere.stdout)).head, head);
    const asked = ['challenge', '--repository', 'x', '--base', base, '--head'];
    const refused = [
      [...asked, 'no-such-branch'],
      [...asked, 'worktree'],
      [...asked, head, '--valid', '0d'],
      [...asked, head, '--valid', '91d'],
      [...asked, head, '--matrix', 'no-such-matrix'],
      [...asked, head, '--policy', home.path('nothing.yaml')],
      [...asked, head, '--out', path],
      ['challenge', '--repository', 'x', '--head', head],
    ];
    const noChange = await qualify(...asked, base);
    assert.deepEqual([noChange.exitCode, noChange.stdout], [64, '']);
    assert.match(noChange.stderr, /Head and base are the same commit/);
    const older = await qualify(...asked.slice(0, 3), '--head', head, '--base', 'main~1');
    assert.equal(older.exitCode, 64);
    assert.match(older.stderr, /There is no revision "main~1"/);
    assert.doesNotMatch(older.stderr, /worktree|prebuilt/);
    for (const args of refused) assert.equal((await qualify(...args)).exitCode, 64, args.join(' '));
    assert.deepEqual(read(path), challenge);
  });
});

describe('a challenge for a change that is behind', () => {
  const policy = (baseDrift: number): string =>
    `schemaVersion: 1\nbaseDrift: ${baseDrift}\nmachines: { any: {} }\nrequire: [{ matrix: smoke, machine: any }]\n`;

  test('is not issued where the gate would count no answer, and says what to do', async (t) => {
    const { home, base, qualify } = branched(t);
    const repository = new Repository(home.path('repository'));
    const git = (...args: string[]): string => repository.git(...args);
    // Making a repository writes files of its own.
    git('checkout', '--quiet', '.');
    const ask = (file: string, ...more: string[]) =>
      qualify(
        ...['challenge', '--repository', 'x', '--head', 'feature', '--base', base, '--matrix', 'smoke'],
        ...['--policy', file, ...more],
      );
    git('checkout', '--quiet', 'main');
    // Rules and waivers are no other engine.
    repository.write('qualify.policy.yaml', policy(0));
    repository.write('qualify.trust.json', '{"schemaVersion":1,"keys":[]}');
    repository.write('waivers/a.waiver.json', '{}');
    repository.commit('rules');
    assert.equal((await ask('qualify.policy.yaml', '--tip', 'main')).exitCode, 0);
    repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 41;\n');
    repository.commit('main moves on');
    const behind = await ask('qualify.policy.yaml', '--tip', 'main');
    assert.deepEqual([behind.exitCode, behind.stdout], [64, '']);
    assert.match(behind.stderr, /is 1 commit behind main, and the policy allows 0: .*\(base-moved\)/);
    assert.match(behind.stderr, /next: Merge the branch into the change/);
    assert.match(behind.stderr, /ERR_QUALIFY_BASE_MOVED/);
    // Without --tip nobody said where it is to be merged.
    assert.equal((await ask('qualify.policy.yaml')).exitCode, 0);
    repository.write('qualify.policy.yaml', policy(1));
    repository.commit('one commit is borne');
    assert.equal((await ask('qualify.policy.yaml', '--tip', 'main')).exitCode, 0);
    git('checkout', '--quiet', '--orphan', 'elsewhere');
    repository.commit('another history');
    const other = await ask('qualify.policy.yaml', '--tip', 'elsewhere');
    assert.equal(other.exitCode, 64);
    assert.match(other.stderr, /is no commit of elsewhere/);
    assert.match(other.stderr, /next: Give a base that elsewhere has: --base/);
    const nowhere = await ask('nosuch.yaml', '--tip', 'main');
    assert.match(nowhere.stderr, /cannot be read \(ENOENT\)\.\n {2}at: {3}nosuch\.yaml\n/);
    const noPolicy = await qualify(
      ...['challenge', '--repository', 'x', '--head', 'feature', '--base', base, '--tip', 'main'],
    );
    assert.match(noPolicy.stderr, /--tip means nothing without --policy/);
  });
});

describe('a challenge that no gate could count an answer to', () => {
  const requiring = (...requirements: string[]): string =>
    `schemaVersion: 1\nmachines: { any: {} }\nrequire:\n${requirements.map((one) => `  - { ${one}, machine: any }\n`).join('')}`;

  test('is not issued for a matrix that the policy does not require; the only one is taken', async (t) => {
    const { home, base, qualify } = branched(t);
    const repository = new Repository(home.path('repository'));
    const ask = (...more: string[]) =>
      qualify('challenge', '--repository', 'x', '--head', 'feature', '--base', base, ...more);
    const policy = (text: string): string[] => {
      writeFileSync(home.path('policy.yaml'), text);
      return ['--policy', home.path('policy.yaml')];
    };
    const refused = async (text: RegExp, ...more: string[]): Promise<void> => {
      const { exitCode, stdout, stderr } = await ask(...more);
      assert.deepEqual([exitCode, stdout], [64, ''], stderr);
      assert.match(stderr.replaceAll(/\s+/g, ' '), text);
    };
    await refused(
      /requires smoke, not prefill-short-pr: a gate would count no answer/,
      ...policy(requiring('matrix: smoke')),
      '--matrix',
      'prefill-short-pr',
    );
    await refused(
      /requires smoke, prefill-short-pr\. .*--matrix MATRIX/,
      ...policy(requiring('matrix: smoke', 'matrix: prefill-short-pr')),
    );
    await refused(/is no policy/, ...policy('schemaVersion: 1\nname: a-matrix\n'));
    const own = policy(requiring('matrix: fake, file: deep/fake.yaml'));
    await refused(/requires fake, of deep\/fake\.yaml, which is not there/, ...own);
    repository.write('deep/fake.yaml', readFileSync(home.fakeMatrix(), 'utf8'));
    for (const [name, text] of [
      ['fake', requiring('matrix: fake, file: deep/fake.yaml')],
      ['smoke', requiring('matrix: smoke', 'matrix: smoke, rounds: 8')],
    ] as const) {
      const { exitCode, stdout, stderr } = await ask(...policy(text));
      assert.equal(exitCode, 0, stderr);
      assert.equal(challengeSchema.parse(JSON.parse(stdout)).matrix.name, name);
    }
  });

  test('is not issued by a policy or a matrix that the branch does not have', async (t) => {
    const { home, base, qualify } = branched(t);
    const repository = new Repository(home.path('repository'));
    const fake = readFileSync(home.fakeMatrix(), 'utf8');
    const rules = requiring('matrix: fake, file: fake.yaml');
    repository.git('checkout', '--quiet', '.');
    repository.git('checkout', '--quiet', 'main');
    repository.write('qualify.policy.yaml', rules);
    repository.write('qualify.trust.json', '{"schemaVersion":1,"keys":[]}');
    repository.write('fake.yaml', fake);
    const tip = repository.commit('rules');
    repository.git('checkout', '--quiet', '-B', 'feature');
    repository.write('kernels/answer.h', '#pragma once\nconstexpr int kAnswer = 44;\n');
    repository.commit('a change of it');
    const ask = () =>
      qualify(
        ...['challenge', '--repository', 'x', '--head', 'feature', '--base', tip],
        ...['--policy', 'qualify.policy.yaml', '--tip', 'main'],
      );
    assert.notEqual(base, tip);
    const good = await ask();
    assert.equal(good.exitCode, 0, good.stderr);
    repository.write('qualify.policy.yaml', `${rules}title: another\n`);
    const policy = await ask();
    assert.deepEqual([policy.exitCode, policy.stdout], [64, '']);
    assert.match(policy.stderr.replaceAll(/\s+/g, ' '), /is not the policy of main .*other-challenge/);
    repository.write('qualify.policy.yaml', rules);
    repository.write(
      'fake.yaml',
      JSON.stringify({ ...JSON.parse(fake), budgets: { prefill: 50, decode: 50 } }),
    );
    const matrix = await ask();
    assert.deepEqual([matrix.exitCode, matrix.stdout], [64, ''], matrix.stderr);
    assert.match(
      matrix.stderr.replaceAll(/\s+/g, ' '),
      /fake \(sha256 .* is not the one that the policy of main requires/,
    );
  });
});

describe('a session that would not answer its challenge', () => {
  test('is refused before anything is built', async (t) => {
    const { home, base, head, matrix, qualify, issue } = branched(t);
    const path = await issue('a.json');
    const altered = (name: string, changes: Partial<Challenge>): string => {
      writeFileSync(home.path(name), JSON.stringify({ ...read(path), ...changes }));
      return home.path(name);
    };
    const late = altered('late.json', {
      issuedAt: '2020-01-01T00:00:00.000Z',
      expiresAt: '2020-01-08T00:00:00.000Z',
    });
    const early = altered('early.json', {
      issuedAt: '2999-01-01T00:00:00.000Z',
      expiresAt: '2999-01-08T00:00:00.000Z',
    });
    const swapped = altered('swapped.json', { base: head, head: base });
    const strict = altered('strict.json', { matrix: { name: 'fake', digest: 'a'.repeat(64) } });
    writeFileSync(home.path('none.json'), '{"schemaVersion":1}');
    writeFileSync(home.path('twice.json'), readFileSync(path, 'utf8').replace('{', '{"nonce":"A",'));
    const pr = ['pr', '--matrix', matrix, '--out', home.path('run'), '--challenge'];
    const refused: [string, RegExp, string[]][] = [
      ['expired', /expired at 2020-01-08/, [...pr, late]],
      ['from the future', /was issued at 2999-01-01/, [...pr, early]],
      [
        'other commits',
        /asks for [0-9a-f]{40} as base, and main is/,
        [...pr, swapped, '--base', 'main', '--head', 'feature'],
      ],
      ['head alone', /as head, and main is/, [...pr, path, '--head', 'main']],
      ['another matrix', /asks for the matrix fake \(sha256 a{12}\)/, [...pr, strict]],
      ['a built-in one', /and this is smoke/, [...pr, path, '--matrix', 'smoke']],
      [
        'a matrix that is no built-in one',
        /asks for the matrix fake .*not built in.*--matrix FILE/,
        ['pr', '--out', home.path('run'), '--challenge', path],
      ],
      ['a seed', /cannot be used with option '--seed/, [...pr, path, '--seed', 'x']],
      ['rounds', /cannot be used with option '--rounds/, [...pr, path, '--rounds', '2']],
      ['cells', /cannot be used with option '--cell/, [...pr, path, '--cell', '64/32']],
      ['a slowdown', /cannot be used with option '--plant-slowdown/, [...pr, path, '--plant-slowdown', '3%']],
      ['no challenge', /none\.json is no challenge/, [...pr, home.path('none.json')]],
      ['one said twice', /nonce/, [...pr, home.path('twice.json')]],
      ['nothing', /ENOENT/, [...pr, home.path('nothing.json')]],
      [
        'prebuilt folders',
        /as base, and prebuilt:\S+ is no commit/,
        ['run', matrix, '--out', home.path('run'), '--challenge', path],
      ],
    ];
    for (const [what, reason, args] of refused) {
      const { exitCode, stderr } = await qualify(...args);
      assert.equal(exitCode, 64, `${what}: ${stderr}`);
      assert.match(stderr.replaceAll(/\s+/g, ' '), reason, what);
    }
    assert.ok(!existsSync(home.path('run')));
    assert.ok(!existsSync(home.path('cache', 'qualify', 'builds')));
    assert.deepEqual(readdirSync(home.path('tmp')), []);
  });
});

describe('a session that answers a challenge', () => {
  test('takes from it what it asks for, and keeps it when it is resumed', async (t) => {
    const { home, base, head, matrix, qualify, issue } = branched(t);
    const path = await issue('a.json', '--pr', '7');
    const other = await issue('b.json', '--pr', '7');
    const ran = await qualify('pr', '--challenge', path, '--matrix', matrix, '--out', home.path('run'));
    assert.equal(ran.exitCode, 15, ran.stderr);
    const plan = planSchema.parse(JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8')));
    assert.deepEqual(plan.challenge, read(path));
    assert.equal(plan.seed, challengeSeed(read(path)));
    const builds = home.journal().filter((entry) => entry.kind === 'build');
    assert.deepEqual(
      builds.map(({ arms, revision }) => [arms, revision.commit]),
      [
        [['base'], base],
        [['head'], head],
      ],
    );
    const hold = async (): Promise<void> => {
      const open = await home.run('verify', 'run');
      assert.equal(open.exitCode, 0, open.stderr);
      assert.match(
        open.stdout.replaceAll(/\s+/g, ' '),
        /answers a challenge for https:\/\/github\.com\/org\/engine#7 at \w+, UNCONFIRMED/,
      );
      const held = await home.run('verify', 'run', '--challenge', path, '--matrix', matrix, '--json');
      assert.equal(held.exitCode, 0, held.stderr);
      assert.deepEqual(JSON.parse(held.stdout).challenge, { nonce: read(path).nonce, confirmed: true });
    };
    await hold();
    const another = await home.run('verify', 'run', '--challenge', other, '--matrix', matrix);
    assert.equal(another.exitCode, 16);
    assert.match(another.stderr, /answers another challenge: nonce is/);
    assert.equal((await home.run('verify', 'run', '--challenge', path)).exitCode, 64);
    assert.equal((await home.run('verify', 'run', '--challenge', path, '--matrix', 'smoke')).exitCode, 64);
    assert.equal((await home.run('verify', 'run', '--matrix', matrix)).exitCode, 64);

    const resumed = await qualify('resume', home.path('run'));
    assert.equal(resumed.exitCode, 15, resumed.stderr);
    assert.ok(home.journal().some((entry) => entry.kind === 'resume'));
    await hold();
  });
});
