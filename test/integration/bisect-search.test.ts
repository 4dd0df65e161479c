/** Bisections of real git repositories, with sessions whose outcome is written in the commit: `kernels/speed` says how fast it is. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { type Asked, type BisectOptions, bisect, type Measure } from '../../src/bisect/bisect.js';
import { renderBisection } from '../../src/bisect/render.js';
import type { Bisection } from '../../src/bisect/result.js';
import { QualifyError } from '../../src/errors.js';
import { scratchFolder } from '../support/folder.js';
import { Repository } from '../support/repository.js';

const cacheBefore = process.env.XDG_CACHE_HOME;
after(() => {
  if (cacheBefore === undefined) delete process.env.XDG_CACHE_HOME;
  else process.env.XDG_CACHE_HOME = cacheBefore;
});

/** A repository in which a commit is as fast as it says. */
class Speeds {
  readonly repository: Repository;
  readonly worktrees: string;
  /** Sessions that were asked for. */
  readonly asked: Asked[] = [];
  readonly saved: Bisection[] = [];

  constructor(folder: string) {
    process.env.XDG_CACHE_HOME = join(folder, 'cache');
    this.worktrees = join(folder, 'cache', 'qualify', 'worktrees');
    this.repository = new Repository(join(folder, 'repository'));
  }

  /** Commits an engine of that speed, or of that fault. */
  commit(speed: number | string, message = `speed ${speed}`): string {
    this.repository.write('kernels/speed', `${speed}\n`);
    // So that no two commits have the same engine.
    this.repository.write('kernels/note', message);
    return this.repository.commit(message);
  }

  #speed(commit: string): string {
    return this.repository.git('show', `${commit}:kernels/speed`);
  }

  readonly measure: Measure = async (asked) => {
    this.asked.push(asked);
    const speed = this.#speed(asked.head);
    if (Number.isNaN(Number(speed)))
      return { outcome: 'refused', word: speed, effect: null, reason: 'it says so', exitCode: 14 };
    const deltaPercent = 100 * (Number(speed) / Number(this.#speed(asked.base)) - 1);
    const effect = { deltaPercent, lowerPercent: deltaPercent - 1, upperPercent: deltaPercent + 1 };
    if (deltaPercent > -2) return { outcome: 'good', word: 'pass', effect, reason: null, exitCode: 0 };
    return { outcome: 'bad', word: 'fail, beyond-budget', effect, reason: null, exitCode: 10 };
  };

  bisect(good: string, bad: string, rest: Partial<BisectOptions> = {}): Promise<Bisection> {
    return bisect({
      ...{ repository: this.repository.folder, good, bad, firstParent: false },
      about: {
        ...{ id: 'test-bisect', startedAt: '2026-11-29T12:00:00Z', harness: '0.1.0' },
        ...{ matrix: { name: 'm', digest: 'a'.repeat(64) }, cell: '401/512', marginPercent: 2 },
      },
      measure: this.measure,
      save: (bisection) => this.saved.push(bisection),
      note: () => {},
      signal: new AbortController().signal,
      ...rest,
    });
  }

  /** Nothing of a bisection is left. */
  assertClean(): void {
    if (existsSync(this.worktrees)) assert.deepEqual(readdirSync(this.worktrees), []);
    assert.equal(this.repository.git('worktree', 'list', '--porcelain').split('\n\n').length, 1);
    assert.deepEqual(this.repository.git('for-each-ref', 'refs/bisect'), '');
    assert.deepEqual(
      readdirSync(join(this.repository.folder, '.git')).filter((name) => name.startsWith('BISECT')),
      [],
    );
  }
}

const speeds = async (t: TestContext): Promise<Speeds> => new Speeds(await scratchFolder(t));

/** The sessions as `base..head`, by the messages of the commits. */
const sessions = ({ asked, repository }: Speeds): string[] =>
  asked.map(({ base, head }) =>
    [base, head].map((commit) => repository.git('show', '-s', '--format=%s', commit)).join('..'),
  );

const refused = (message: RegExp) => (error: unknown) =>
  error instanceof QualifyError && error.exitCode === 64 && message.test(error.message);

describe('a bisection', () => {
  test('finds the culprit in the middle of eight commits by the ends, three steps, and a confirmation', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 100, 100, 100, 70, 70, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[8] ?? '');
    assert.equal(found.result, 'confirmed');
    assert.equal(found.exitCode, 0);
    assert.equal(found.culprit?.commit, names[5]);
    assert.ok(one.asked.length <= 5, sessions(one).join(' '));
    assert.deepEqual(sessions(one).at(0), 'c0..c8');
    assert.deepEqual(sessions(one).at(-1), 'c4..c5');
    assert.ok(
      sessions(one)
        .slice(0, -1)
        .every((session) => session.startsWith('c0..')),
    );
    assert.equal(new Set(one.asked.map(({ run }) => run)).size, one.asked.length);
    assert.equal(one.saved.at(-1)?.result, 'confirmed');
    assert.ok(one.saved.length > 4, 'what is known is kept from step to step');
    one.assertClean();
    const text = renderBisection(found, '.qualify/bisect/test-bisect');
    assert.match(text, /^The culprit is [0-9a-f]{12} "c5"\.\nConfirmed: against its parent/);
    assert.ok(
      text.split('\n').every((line) => line.length <= 80),
      text,
    );
  });

  test('does not touch the checkout, nor a bisection of the user', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    one.repository.git('bisect', 'start', names[3] ?? '', names[0] ?? '');
    one.repository.write('kernels/a.h', '// under way\n');
    const state = () =>
      ['bisect log', 'rev-parse HEAD', 'status --porcelain', 'for-each-ref'].map((args) =>
        one.repository.git(...args.split(' ')),
      );
    const before = state();
    const { result, culprit } = await one.bisect(names[0] ?? '', names[3] ?? '');
    assert.deepEqual([result, culprit?.commit], ['confirmed', names[2]]);
    assert.deepEqual(state(), before);
  });

  test('stops at once when BAD passes, is undecided or is refused, with the word for it', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'good');
    const same = one.commit(99, 'same');
    const refusal = one.commit('parity-failed');
    const passed = await one.bisect(good, same);
    assert.deepEqual([passed.result, passed.exitCode, passed.culprit], ['no-slowdown', 11, null]);
    assert.equal(one.asked.length, 1);
    assert.match(renderBisection(passed, '.'), /^There is nothing to find: BAD/);
    const proofless = await one.bisect(good, refusal);
    assert.deepEqual([proofless.result, proofless.exitCode], ['refused', 14]);
    assert.match(
      renderBisection(proofless, '.'),
      /^BAD cannot be measured against GOOD: parity-failed: it says so/,
    );
    const undecided = await one.bisect(good, same, {
      measure: async (asked) => {
        one.asked.push(asked);
        return { outcome: 'undecided', word: 'inconclusive', effect: null, reason: 'noise', exitCode: 11 };
      },
    });
    assert.deepEqual([undecided.result, undecided.exitCode], ['undecided', 11]);
    assert.deepEqual(
      one.asked.slice(-2).map(({ run, again }) => [run, again]),
      [
        ['00-bad', null],
        ['00-bad-again', 'more-rounds'],
      ],
    );
    one.assertClean();
  });

  test('skips what cannot be measured, and finds the culprit beside it', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 100, 'broken', 100, 70, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[7] ?? '');
    assert.deepEqual([found.result, found.culprit?.commit], ['confirmed', names[5]]);
    const broken = found.tried.find(({ commit }) => commit === names[3]);
    assert.ok(broken === undefined || broken.outcome === 'refused');
    assert.ok(
      found.tried.some(({ outcome }) => outcome === 'refused'),
      'the middle is what cannot be measured',
    );
  });

  test('names the commits that it cannot tell apart', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 'broken', 'broken', 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[5] ?? '');
    assert.deepEqual([found.result, found.exitCode, found.culprit], ['range', 11, null]);
    assert.deepEqual(found.range?.toSorted(), names.slice(2, 5).toSorted());
    assert.match(renderBisection(found, '.'), /^The culprit is one of these 3 commits/);
    one.assertClean();
  });

  test('takes the outcome of an engine that was measured, and tries no commit that changes none', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'fast');
    one.repository.write('README.md', 'words');
    one.repository.write('kernels/test/a_test.cpp', '// a test');
    one.repository.commit('words and a test');
    one.commit(70, 'slow');
    one.commit(100, 'fast');
    const culprit = one.commit(70, 'slow');
    one.commit(60, 'slower');
    const bad = one.commit(70, 'slow');
    const found = await one.bisect(good, bad);
    assert.equal(found.commits, 5);
    const reused = found.tried.filter(({ sameAs }) => sameAs !== null);
    assert.ok(reused.length > 0, JSON.stringify(found.tried));
    assert.ok(reused.every(({ runs, seconds }) => runs.length === 0 && seconds === 0));
    const heads = one.asked
      .slice(0, -1)
      .map(({ head }) => one.repository.git('rev-parse', `${head}:kernels`));
    assert.equal(new Set(heads).size, heads.length, 'no engine is measured twice against GOOD');
    assert.ok(['confirmed'].includes(found.result) && found.culprit !== null);
    assert.ok([culprit, one.repository.git('rev-parse', `${culprit}~2`)].includes(found.culprit.commit));
    const tried = found.tried.map(({ subject }) => subject);
    assert.ok(!tried.includes('words and a test'));
  });

  test('says when the culprit is not slower than its parent by itself', async (t) => {
    const one = await speeds(t);
    const names = [100, 99.2, 98.4, 97.6, 96.8].map((speed, at) => one.commit(speed, `c${at}`));
    const found = await one.bisect(names[0] ?? '', names[4] ?? '');
    assert.deepEqual([found.result, found.exitCode, found.culprit?.commit], ['not-confirmed', 11, names[3]]);
    assert.equal(found.confirmation?.outcome, 'good');
    assert.match(renderBisection(found, '.').replaceAll('\n', ' '), /Not confirmed: .* Is it gradual\?/);
  });

  test('looks at the merge base when GOOD is no ancestor of BAD', async (t) => {
    const one = await speeds(t);
    const base = one.commit(100, 'base');
    one.repository.git('checkout', '--quiet', '-b', 'release');
    const release = one.commit(100, 'release');
    one.repository.git('checkout', '--quiet', 'main');
    const culprit = one.commit(70, 'slow');
    const bad = one.commit(70, 'later');
    const found = await one.bisect(release, bad);
    assert.deepEqual([found.mergeBase, found.result, found.culprit?.commit], [base, 'confirmed', culprit]);
    assert.ok(sessions(one).includes('release..base'));
    assert.match(renderBisection(found, '.'), /GOOD is no ancestor of BAD; they part at/);
  });

  test('says when what is slower lies before the merge base: GOOD has what BAD never had', async (t) => {
    const one = await speeds(t);
    one.commit(70, 'base');
    one.repository.git('checkout', '--quiet', '-b', 'release');
    const release = one.commit(100, 'faster');
    one.repository.git('checkout', '--quiet', 'main');
    one.commit(70, 'slow');
    const found = await one.bisect(release, one.commit(70, 'later'));
    assert.deepEqual([found.result, found.exitCode, found.culprit], ['older', 11, null]);
    assert.match(
      renderBisection(found, '.').replaceAll('\n', ' '),
      /GOOD has something faster that BAD never had/,
    );
    one.assertClean();
  });

  test('finds the commit of a branch, or with first parents only the merge that brought it', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'base');
    one.repository.git('checkout', '--quiet', '-b', 'feature');
    one.repository.write('kernels/b', 'feature');
    one.repository.commit('prepare');
    one.repository.write('kernels/speed', '70\n');
    const culprit = one.repository.commit('slow');
    one.repository.git('checkout', '--quiet', 'main');
    one.repository.write('kernels/c', 'main');
    one.repository.commit('other work');
    one.repository.git('merge', '--quiet', '--no-ff', '--message', 'merge', 'feature');
    const merge = one.repository.git('rev-parse', 'HEAD');
    one.repository.write('kernels/c', 'later');
    const bad = one.repository.commit('later');
    const whole = await one.bisect(good, bad);
    assert.deepEqual([whole.result, whole.culprit?.commit], ['confirmed', culprit]);
    const first = await one.bisect(good, bad, { firstParent: true });
    assert.deepEqual(
      [first.result, first.culprit?.commit, first.culprit?.parents.length],
      ['confirmed', merge, 2],
    );
    assert.match(renderBisection(first, '.').replaceAll('\n', ' '), /It is a merge: .*first parents only/);
  });

  test('refuses ends that leave nothing to search, before anything is measured', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'good');
    const bad = one.commit(70, 'bad');
    one.repository.write('README.md', 'words');
    const words = one.repository.commit('words');
    await assert.rejects(one.bisect(good, good), refused(/the same commit/));
    await assert.rejects(one.bisect(bad, good), refused(/BAD .* is an ancestor of GOOD/));
    await assert.rejects(one.bisect(bad, words), refused(/the same engine sources/));
    await assert.rejects(one.bisect(good, 'no-such'), refused(/no revision "no-such"/));
    await assert.rejects(one.bisect(good, 'worktree'), refused(/"worktree" is no commit/));
    await assert.rejects(one.bisect('prebuilt:/a', bad), refused(/is no commit/));
    one.repository.git('checkout', '--quiet', '--orphan', 'other');
    const orphan = one.commit(70, 'orphan');
    await assert.rejects(one.bisect(good, orphan), refused(/no commit in common/));
    assert.deepEqual(one.asked, []);
  });

  test('refuses a shallow clone whose history is cut off between the ends', async (t) => {
    const one = await speeds(t);
    const good = one.commit(100, 'good');
    one.commit(100, 'middle');
    one.repository.git('checkout', '--quiet', '-b', 'side', good);
    one.repository.write('kernels/side', 'x');
    one.repository.commit('side 1');
    one.repository.write('kernels/side', 'y');
    one.repository.commit('side 2');
    one.repository.git('checkout', '--quiet', 'main');
    one.repository.git('merge', '--quiet', '--no-ff', '--message', 'merge', 'side');
    one.commit(70, 'bad');
    const clone = join(one.repository.folder, '..', 'clone');
    execFileSync('git', ['clone', '--quiet', '--depth', '3', `file://${one.repository.folder}`, clone], {
      stdio: 'ignore',
    });
    const options = { repository: clone };
    await assert.rejects(one.bisect('HEAD^2', 'HEAD', options), refused(/is no revision|no revision/));
    await assert.rejects(one.bisect('HEAD~2', 'HEAD', options), refused(/shallow: .* cut off at/));
    execFileSync('git', ['-C', clone, 'fetch', '--quiet', '--unshallow'], { stdio: 'ignore' });
    assert.equal((await one.bisect('HEAD~2', 'HEAD', options)).result, 'confirmed');
  });

  test('tells what was found when it is interrupted, and leaves nothing', async (t) => {
    const one = await speeds(t);
    const names = [100, 100, 100, 100, 100, 70, 70, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const controller = new AbortController();
    const measure: Measure = async (asked, begun) => {
      if (one.asked.length === 2)
        controller.abort(
          new QualifyError('ERR_QUALIFY_INTERRUPTED', 'interrupted by SIGINT', { exit: 'notMeasured' }),
        );
      controller.signal.throwIfAborted();
      return one.measure(asked, begun);
    };
    const found = await one.bisect(names[0] ?? '', names[8] ?? '', { measure, signal: controller.signal });
    assert.deepEqual([found.result, found.exitCode, found.tried.length], ['interrupted', 12, 2]);
    assert.match(
      renderBisection(found, '.').replaceAll('\n', ' '),
      new RegExp(
        `found until then: it is after ${names[4]?.slice(0, 12)}, and not after ${names[8]?.slice(0, 12)}`,
      ),
    );
    one.assertClean();
  });

  test('counts how long all of its sessions waited, and those of before an interruption', async (t) => {
    const one = await speeds(t);
    const commits = [100, 100, 70, 70].map((speed, at) => one.commit(speed, `c${at}`));
    const [good = '', , , bad = ''] = commits;
    let waited = 0;
    const measure: Measure = (asked, begun) => {
      waited += 60;
      return one.measure(asked, begun);
    };
    const counting = { measure, waitedSeconds: () => waited };
    const first = await one.bisect(good, bad, counting);
    const sessions = one.asked.length;
    assert.ok(sessions >= 3, `${sessions} sessions`);
    assert.equal(first.waitedSeconds, 60 * sessions);
    // What is kept in between counts what was waited until then, from session to session.
    const kept = one.saved.map(({ waitedSeconds }) => waitedSeconds);
    assert.deepEqual(
      [...new Set(kept)],
      Array.from({ length: sessions }, (_, at) => 60 * (at + 1)),
    );
    assert.match(
      renderBisection({ ...first, waitedSeconds: 61 }, '.').replaceAll(/\s+/g, ' '),
      /\(61 s of it waiting for the machine\)/,
    );
    assert.doesNotMatch(renderBisection({ ...first, waitedSeconds: 0.9 }, '.'), /waiting/);
    waited = 0;
    one.asked.length = 0;
    const again = await one.bisect(good, bad, { ...counting, before: first });
    assert.equal(again.waitedSeconds, 60 * (sessions + one.asked.length));
    one.assertClean();
  });

  test('throws what keeps the first session from saying anything, and keeps nothing of it', async (t) => {
    const one = await speeds(t);
    const [good, bad] = [one.commit(100), one.commit(70)];
    const taken = new QualifyError('ERR_QUALIFY_LOCKED', 'The machine is taken.', { exit: 'infrastructure' });
    await assert.rejects(one.bisect(good, bad, { measure: () => Promise.reject(taken) }), taken);
    assert.deepEqual(one.saved, []);
    one.assertClean();
  });

  test('ends at a failure that is not of the commit, which would else skip them all', async (t) => {
    const one = await speeds(t);
    const [good, bad] = [one.commit(100), one.commit(100, 'middle'), one.commit(70)].filter(
      (_, at) => at !== 1,
    );
    const measure: Measure = async (asked, begun) => {
      if (one.asked.length === 1)
        throw new QualifyError('ERR_QUALIFY_DISK_FULL', 'The disk is full.', { exit: 'infrastructure' });
      return one.measure(asked, begun);
    };
    const found = await one.bisect(good ?? '', bad ?? '', { measure });
    assert.deepEqual(
      [found.result, found.exitCode, found.failure?.code],
      ['broken', 15, 'ERR_QUALIFY_DISK_FULL'],
    );
    assert.match(renderBisection(found, '.'), /^Ended early: The disk is full/);
    one.assertClean();
  });
});
