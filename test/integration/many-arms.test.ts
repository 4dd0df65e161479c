/** Sessions with more than two arms, and sessions narrowed to some cells: run, verify and report. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { newHome } from '../support/run-cli.js';

const off = { DFLASH_MOE_GROUPED_MMID_PREFILL: '0', DFLASH_MOE_FUSED_COMBINE: '0', DFLASH_MOE_OWNERS: '1' };
const grouped = { ...off, DFLASH_MOE_GROUPED_MMID_PREFILL: '1' };
const arms = {
  base: off,
  head: grouped,
  'fused-combine': { ...grouped, DFLASH_MOE_FUSED_COMBINE: '1' },
  owners: { ...grouped, DFLASH_MOE_OWNERS: '2' },
};

describe('a session of four arms', () => {
  test('compares each with the first, and verifies', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix(arms), '--out', 'run');
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    const comparisons = home.verdict().cells[0]?.comparisons ?? [];
    assert.deepEqual(
      comparisons.map(({ arm, against, verdict }) => [arm, against, verdict]),
      ['head', 'fused-combine', 'owners'].map((arm) => [arm, 'base', 'pass']),
    );
    const plan = JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8'));
    for (const { order } of plan.rounds) assert.deepEqual(order.toSorted(), Object.keys(arms).toSorted());
    const verified = await home.run('verify', 'run');
    assert.equal(verified.exitCode, 0, verified.stderr);
    for (const format of ['table', 'markdown', 'csv']) {
      const report = await home.run('report', 'run', '--format', format);
      assert.equal(report.exitCode, 0, report.stderr);
      for (const arm of Object.keys(arms)) assert.ok(report.stdout.includes(arm), `${format} lacks ${arm}`);
    }
  });

  test('refuses the one arm whose switch has no effect', async (t) => {
    const home = newHome(t);
    const lame = { ...arms['fused-combine'], FAKE_FAULT: 'lame-switch' };
    const matrix = home.fakeMatrix({ ...arms, 'fused-combine': lame }, { looks: [2] });
    const result = await home.run('run', matrix, '--out', 'run');
    assert.equal(result.exitCode, 14, result.stderr);
    // What a loaded machine does to clocks may refuse others too, but not for this.
    const lacking = home
      .verdict()
      .cells[0]?.comparisons.filter(({ reasons }) =>
        reasons.some(({ code }) => code === 'switch-without-effect'),
      );
    assert.deepEqual(
      lacking?.map(({ arm, verdict, effect }) => [arm, verdict, effect]),
      [['fused-combine', 'unmatched', null]],
    );
    assert.equal('fused-combine' in (home.verdict().cells[0]?.arms ?? {}), false);
  });
});

describe('a session narrowed to some cells', () => {
  test('runs those, decides about them, and is no qualification', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, {}, [64, 96]);
    const result = await home.run('run', matrix, '--cell', '96/32', '--out', 'run');
    assert.equal(result.exitCode, 11, result.stderr);
    const verdict = home.verdict();
    assert.deepEqual(
      verdict.cells.map(({ id, verdict: own }) => [id, own]),
      [['96/32', 'pass']],
    );
    assert.ok(verdict.reasons.some(({ code, message }) => code === 'narrowed' && message.includes('64/32')));
    assert.match(result.stdout.replaceAll(/\s+/g, ' '), /without 64\/32 this is no qualification by fake/);
    const verified = await home.run('verify', 'run');
    assert.equal(verified.exitCode, 0, verified.stderr);
  });

  test('is refused for a cell that the matrix does not have', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix(), '--cell', '64/33');
    assert.equal(result.exitCode, 64);
    assert.match(result.stderr, /fake has no cell "64\/33"[\s\S]*64\/32/);
  });

  test('is planned with a warning', async (t) => {
    const home = newHome(t);
    const result = await home.run('plan', home.fakeMatrix({}, {}, [64, 96]), '--cell', '64/32');
    assert.match(result.stdout.replaceAll(/\s+/g, ' '), /without 96\/32 this is no qualification/);
  });
});
