/** Bisections that are refused, stop at once, are interrupted or fail, and what they keep and leave. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Measure } from '../../src/bisect/bisect.js';
import { renderBisection } from '../../src/bisect/render.js';
import { QualifyError } from '../../src/errors.js';
import { speeds } from '../fixtures/speeds.js';

const refused = (message: RegExp) => (error: unknown) =>
  error instanceof QualifyError && error.exitCode === 64 && message.test(error.message);

describe('a bisection', () => {
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
