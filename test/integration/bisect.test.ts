/** `qualify bisect` and `qualify pr --bisect` by the real CLI: commits are built from git and measured by sessions. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bisectionSchema, readBisection } from '../../src/bisect/result.js';
import { takeMachineLock } from '../../src/machine/lock.js';
import { eventually, nothingRunsOf } from '../support/eventually.js';
import { type CliResult, Home, type StartedCli } from '../support/run-cli.js';
import { ServedRepository, servedMatrix } from '../support/served-repository.js';

/** Microseconds a token. */
const FAST = 60;
const SLOW = 90;

interface Served {
  home: Home;
  repository: ServedRepository;
  matrix: string;
}

function served(t: TestContext): Served {
  const home = new Home();
  t.after(() => home.remove());
  return { home, repository: new ServedRepository(home), matrix: servedMatrix(home) };
}

const start = ({ home, repository, matrix }: Served, ...args: string[]) =>
  home.start([...args, '--matrix', matrix, '--cell', '64/32'], { cwd: repository.folder });

/** Waits until a command has said something, however late that is seen. */
async function seen(started: StartedCli, text: RegExp): Promise<void> {
  const isSaid = (): boolean => text.test(started.stderr());
  await eventually(() => isSaid() || started.child.exitCode !== null, `${text} is said`);
  assert.ok(isSaid(), started.stderr());
}

/** Ctrl-C as soon as a bisection has said something, while it measures. */
async function interrupted(one: Served, good: string, text: RegExp): Promise<CliResult> {
  const started = start(one, 'bisect', good, 'HEAD');
  await seen(started, text);
  started.child.kill('SIGINT');
  const worktrees = readdirSync(one.home.path('cache', 'qualify', 'worktrees'));
  assert.ok(
    worktrees.some((name) => name.startsWith('bisect-')),
    `${worktrees}: nothing to leave`,
  );
  const result = await started.finished;
  assert.equal(result.exitCode, 12, result.stderr);
  await nothingRunsOf(one.home);
  assertClean(one);
  return result;
}

/** Nothing of a bisection is left in the repository or in the cache. */
function assertClean({ home, repository }: Served): void {
  const worktrees = home.path('cache', 'qualify', 'worktrees');
  if (existsSync(worktrees)) assert.deepEqual(readdirSync(worktrees), []);
  assert.equal(repository.git('worktree', 'list', '--porcelain').split('\n\n').length, 1);
  assert.equal(repository.git('for-each-ref', 'refs/bisect'), '');
  assert.equal(repository.git('status', '--porcelain', '--untracked-files=no'), '');
}

describe('qualify bisect', () => {
  test('builds and measures commits, skips what does not build, and confirms the culprit', async (t) => {
    const one = served(t);
    const { repository, home } = one;
    const good = repository.commitSpeed(FAST, 'c0');
    repository.commitComment('c1');
    const culprit = repository.commitSpeed(SLOW, 'c2');
    repository.commitBroken('c3');
    for (const name of ['c4', 'c5', 'c6']) repository.commitSpeed(SLOW, name);
    const bad = repository.commitSpeed(SLOW, 'c7');
    repository.write('README.md', 'words');
    const head = repository.commit('words');
    const result = await start(one, 'bisect', good, bad, '--json').finished;
    assert.equal(result.exitCode, 0, result.stderr + result.stdout);
    const found = bisectionSchema.parse(JSON.parse(result.stdout));
    assert.deepEqual([found.result, found.culprit?.commit], ['confirmed', culprit]);
    assert.deepEqual(
      [found.confirmation?.outcome, found.confirmation?.base],
      ['bad', repository.git('rev-parse', `${culprit}^`)],
    );
    const words = found.tried.map(({ subject, outcome, word }) => [subject, outcome, word]);
    const bySubject = new Map(found.tried.map((tried) => [tried.subject, tried]));
    assert.deepEqual(bySubject.get('c3')?.word, 'ERR_QUALIFY_BUILD_FAILED', JSON.stringify(words));
    assert.deepEqual(bySubject.get('c1')?.word, 'same binary', JSON.stringify(words));
    assert.match(String(bySubject.get('c2')?.effect?.deltaPercent), /^-33\.3/);
    assert.ok(found.tried.length <= 5, JSON.stringify(words));

    const folder = join(repository.folder, '.qualify', 'bisect', found.id);
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'bisect.json'), 'utf8')), found);
    const runs = [...found.tried, ...(found.confirmation ? [found.confirmation] : [])].flatMap(
      ({ runs }) => runs,
    );
    assert.deepEqual(readdirSync(folder).toSorted(), ['bisect.json', ...runs].toSorted());
    for (const run of runs) assert.equal((await home.run('verify', join(folder, run))).exitCode, 0, run);
    assert.equal(repository.git('rev-parse', 'HEAD'), head);
    assertClean(one);
  });

  test('interrupted twice, leaves nothing, and the same command measures only what is missing', async (t) => {
    const one = served(t);
    const { repository } = one;
    const good = repository.commitSpeed(FAST, 'c0');
    // Whichever of the two in the middle git takes first, the other one is needed too.
    repository.commitSpeed(FAST, 'c1');
    for (const name of ['c2', 'c3']) repository.commitSpeed(SLOW, name);
    const bisections = join(repository.folder, '.qualify', 'bisect');

    const first = await interrupted(one, good, /next [0-9a-f]{12}.*round \d of 6/s);
    assert.match(
      first.stdout,
      /^Interrupted\. What was found until then:\nit is after [0-9a-f]{12}, and not after/,
    );
    assert.match(first.stdout, /The same command again goes on from here/);
    const [id = ''] = readdirSync(bisections);
    const folder = join(bisections, id);
    const kept = readBisection(folder);
    assert.deepEqual([kept?.result, kept?.tried.length], ['interrupted', 1]);
    const manifests = (run: string) => readFileSync(join(folder, run, 'qualification.intoto.jsonl'), 'utf8');
    // A run that others spoilt is made once more.
    const badRuns = kept?.tried[0]?.runs ?? [];
    const badRun = badRuns.at(-1) ?? '';
    const [nextRun = ''] = readdirSync(folder).filter(
      (name) => !name.endsWith('.json') && !badRuns.includes(name),
    );
    const bad = manifests(badRun);

    const second = await interrupted(one, good, /goes on\n.*\nnext \w{12}.*round \d of 6/s);
    assert.match(second.stderr, new RegExp(`Goes on with the unfinished bisection in .*${id}`));
    assert.match(second.stderr, new RegExp(`${badRun}: measured before, verified, not measured again\n`));
    assert.match(second.stderr, new RegExp(`${nextRun}: begun before, goes on\n`));
    assert.match(manifests(nextRun), /payload/);

    const verdict = join(folder, badRun, 'verdict.json');
    const text = readFileSync(verdict, 'utf8');
    writeFileSync(verdict, text.replace('"fail"', '"pass"'));
    const refused = await start(one, 'bisect', good, 'HEAD').finished;
    assert.deepEqual([refused.exitCode, refused.stdout], [16, '']);
    assert.match(
      refused.stderr,
      new RegExp(`The run ${badRun} of before the interruption cannot be used: verdict.json has changed`),
    );
    assert.match(refused.stderr, /Take its folder away to measure that commit again, or .*--anew/);
    writeFileSync(verdict, text);

    const { exitCode, stdout, stderr } = await start(one, 'bisect', good, 'HEAD', '--json').finished;
    assert.equal(exitCode, 0, stderr);
    const found = bisectionSchema.parse(JSON.parse(stdout));
    assert.deepEqual([found.id, found.result, found.reused], [id, 'confirmed', [...badRuns, nextRun]]);
    assert.equal(found.tried[0]?.seconds, kept?.tried[0]?.seconds);
    assert.equal(manifests(badRun), bad, 'what is reused is not touched');
    assert.deepEqual(readdirSync(bisections), [id]);
    assertClean(one);
  });

  test('killed in its first session, goes on with that one', async (t) => {
    const one = served(t);
    const { repository, home } = one;
    const good = repository.commitSpeed(FAST, 'c0');
    const culprit = repository.commitSpeed(SLOW, 'c1');
    const killed = start(one, 'bisect', good, 'HEAD');
    await seen(killed, /round \d of 6/);
    killed.child.kill('SIGKILL');
    await killed.finished;
    await nothingRunsOf(home);
    assertClean(one);
    const { exitCode, stdout, stderr } = await start(one, 'bisect', good, 'HEAD', '--json').finished;
    assert.equal(exitCode, 0, stderr);
    const found = bisectionSchema.parse(JSON.parse(stdout));
    assert.deepEqual([found.culprit?.commit, found.reused], [culprit, undefined]);
    assert.match(stderr, /00-bad: begun before, goes on/);
    const journal = join(repository.folder, '.qualify', 'bisect', found.id, '00-bad', 'journal.jsonl');
    assert.match(readFileSync(journal, 'utf8'), /"kind":"resume"/);
    assertClean(one);
  });

  test('interrupted while it waits for the machine says so, and has no empty part', async (t) => {
    const one = served(t);
    const { repository, home } = one;
    const good = repository.commitSpeed(FAST, 'c0');
    repository.commitSpeed(SLOW, 'c1');
    const address = `\0${home.environment.QUALIFY_LOCK}`;
    const lock = await takeMachineLock({ what: 'another session', wait: false, address });
    t.after(() => lock.release());
    const started = start(one, 'bisect', good, 'HEAD', '--wait');
    await seen(started, /waiting for/);
    await sleep(1100);
    started.child.kill('SIGINT');
    const { exitCode, stdout } = await started.finished;
    assert.equal(exitCode, 12, started.stderr());
    assert.match(stdout, /^Interrupted before the first session came to its end/);
    assert.doesNotMatch(stdout, /in the order tried/);
    assert.match(stdout.replaceAll(/\s+/g, ' '), /\d s \(\d s of it waiting for the machine\), 0 sessions/);
    assertClean(one);
  });

  test('wants one cell, and commits that there are, before anything is built', async (t) => {
    const one = served(t);
    const { home, repository, matrix } = one;
    const good = repository.commitSpeed(FAST, 'c0');
    repository.commitSpeed(SLOW, 'c1');
    const refused = async (message: RegExp, ...args: string[]): Promise<void> => {
      const { exitCode, stderr, stdout } = await home.start(['bisect', ...args], { cwd: repository.folder })
        .finished;
      assert.deepEqual([exitCode, stdout], [64, ''], stderr);
      assert.match(stderr, message);
    };
    await refused(/has 2 cells.*--cell 64\/32/s, good, 'HEAD', '--matrix', matrix);
    await refused(/has no cell "64\/64"/, good, 'HEAD', '--matrix', matrix, '--cell', '64/64');
    await refused(/the same commit/, good, good, '--matrix', matrix, '--cell', '64/32');
    await refused(/is an ancestor of GOOD/, 'HEAD', good, '--matrix', matrix, '--cell', '64/32');
    const differing = home.path('differing.yaml');
    const { arms, ...rest } = JSON.parse(readFileSync(matrix, 'utf8'));
    arms.head.switches = { DFLASH_X: '1' };
    writeFileSync(differing, JSON.stringify({ ...rest, arms }));
    // What the matrix is stripped of is told when it is put to use, and not before an error.
    await refused(/^qualify: [^\n]*the same commit/, good, good, '--matrix', differing, '--cell', '64/32');
    await refused(/rounds/, good, 'HEAD', '--matrix', matrix, '--cell', '64/32', '--rounds', '7');
    assert.equal(existsSync(join(repository.folder, '.qualify')), false);
    assert.equal(existsSync(home.path('cache', 'qualify', 'builds')), false);
  });
});

describe('qualify pr --bisect', () => {
  test('exits as git bisect run wants it, and with what ends it for all that is no answer', async (t) => {
    const home = new Home();
    t.after(() => home.remove());
    const repository = new ServedRepository(home);
    repository.commitBroken('broken');
    const [base, head] = ['fake', 'other'].map((name) => `prebuilt:${home.fakeBuild(name)}`);
    const matrix = home.fakeMatrix();
    const code = async (...args: string[]): Promise<number | null> => {
      const call = ['pr', '--matrix', matrix, '--bisect', '--cell', '64/32', ...args];
      const { exitCode, stderr } = await home.start(call, { cwd: repository.folder }).finished;
      if (exitCode !== 255)
        assert.match(stderr, new RegExp(`^git bisect: ${exitCode}, (good|bad|skip): `, 'm'));
      return exitCode;
    };
    const arms = ['--base', base ?? '', '--head', head ?? ''];
    assert.equal(await code(...arms), 0, 'good');
    assert.equal(await code(...arms, '--plant-slowdown', '40%'), 1, 'bad');
    assert.equal(await code(...arms, '--rounds', '2'), 125, 'undecided');
    assert.equal(await code('--base', base ?? '', '--head', 'HEAD'), 125, 'it does not build');
    assert.equal(await code(...arms, '--no-such-option'), 255);
    assert.equal(await code(...arms, '--cell', 'no/such'), 255);
    assert.equal(await code('--base', base ?? '', '--head', 'no-such'), 255);
    assert.equal(
      await code(...arms, '--out', home.folder),
      255,
      'a run folder in the way is not of the commit',
    );
  });
});

describe('what pr leaves out of a matrix', () => {
  test('is told when the session begins, in 80 columns', async (t) => {
    const home = new Home();
    t.after(() => home.remove());
    const name = 'DFLASH_A_SWITCH_WITH_A_NAME_THAT_IS_LONG';
    const matrix = home.fakeMatrix({ head: { [name]: '1' } });
    const [base, head] = ['fake', 'other'].map((build) => `prebuilt:${home.fakeBuild(build)}`);
    const arms = ['--base', base ?? '', '--head', head ?? ''];
    const begun = await home.run('pr', '--matrix', matrix, ...arms, '--rounds', '2');
    const lines = begun.stderr.split('\n');
    const at = lines.findIndex((line) => line.startsWith('The arms of '));
    assert.match(lines.slice(at, at + 4).join(' '), new RegExp(`differ in ${name}; here only the revision`));
    assert.ok(
      (lines[at + 1] ?? '') !== '' &&
        lines.slice(at, at + 2).every((line) => line.length <= 80 || line.includes(home.folder)),
    );
  });
});
