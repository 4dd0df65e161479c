/** `qualify switches` through the real CLI, on a fake engine whose switches have known effects on time. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parseMatrix } from '../../src/matrix/parse.js';
import { breachesOf } from '../../src/matrix/rules.js';
import type { AblationCell } from '../../src/verdict/ablation-schema.js';
import { type CliResult, type Home, newHome } from '../support/run-cli.js';

const names = ['FAKE_A', 'FAKE_B', 'FAKE_C'];
const asked = names.flatMap((name) => ['--switch', `${name}=0,1`]);

/** Slow enough that what a busy machine does to short requests is small; the fake's CPU time is what it says it is. */
const slow = { FAKE_US_PER_TOKEN: '600' };
const matrixOf = (home: Home, more: Record<string, string> = {}): string =>
  home.fakeMatrix({ base: { ...slow, ...more }, head: { ...slow, ...more } }, { samples: 5 });

/** What a loaded machine does to clocks is no matter of ablations: such a session is run once more. */
async function runUndisturbed(home: Home, ...args: string[]): Promise<CliResult> {
  for (let left = 5; ; left--) {
    rmSync(home.path('run'), { recursive: true, force: true });
    const result = await home.run('switches', ...args, '--out', 'run');
    const { reasons } = home.verdict();
    const disturbed = reasons.length > 0 && reasons.every(({ code }) => code === 'clocks-contradict');
    if (!disturbed || left === 0) return result;
  }
}

function cellOf(home: Home): AblationCell {
  const [cell] = home.verdict().ablation?.cells ?? [];
  assert.ok(cell);
  return cell;
}

const percents = (home: Home): (number | undefined)[] =>
  cellOf(home).switches.map(({ effect }) =>
    effect === null ? undefined : Number(effect.percent.toFixed(6)),
  );

const percentOf = (time: number): number => Number((100 * (1 / time - 1)).toFixed(6));

describe('qualify switches', () => {
  test('--design finds the effects of all switches, of the pair, and of all together; verify follows', async (t) => {
    const home = newHome(t);
    const result = await runUndisturbed(home, matrixOf(home), ...asked, '--design');
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    // In the mean over the other switch, each switch of the pair has the half of what they do together.
    const half = Math.sqrt(0.9);
    assert.deepEqual(percents(home), [percentOf(0.8 * half), percentOf(1.25 * half), 0]);
    assert.equal(Number(cellOf(home).joint?.percent.toFixed(6)), percentOf(0.9));
    assert.deepEqual(cellOf(home).pairs[0]?.pairs, [['FAKE_A', 'FAKE_B']]);
    assert.equal(Number(cellOf(home).pairs[0]?.percent.toFixed(6)), percentOf(half));
    const plan = JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8'));
    assert.equal(plan.design.rows.length, 8);
    assert.equal(plan.rounds.length, 2);
    const verified = await home.run('verify', 'run', '--json');
    assert.equal(verified.exitCode, 0, verified.stderr);
    assert.equal(JSON.parse(verified.stdout).statement.predicate.design.kind, 'folded-plackett-burman');
    for (const format of ['table', 'markdown', 'csv', 'json']) {
      const report = await home.run('report', 'run', '--format', format);
      assert.equal(report.exitCode, 0, report.stderr);
    }
  });

  test('one at a time finds the effects with the others on', async (t) => {
    const home = newHome(t);
    const result = await runUndisturbed(home, matrixOf(home), ...asked, '--rounds', '2');
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    assert.deepEqual(percents(home), [percentOf(0.8 * 0.9), percentOf(1.25 * 0.9), 0]);
    assert.match(result.stdout, /no budget judged/);
  });

  test('one at a time finds the effects with the others off', async (t) => {
    const home = newHome(t);
    const args = [matrixOf(home), ...asked, '--from', 'off', '--rounds', '1', '--json'];
    const result = await runUndisturbed(home, ...args);
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    assert.deepEqual(percents(home), [percentOf(0.8), percentOf(1.25), 0]);
    assert.deepEqual(
      JSON.parse(result.stdout),
      JSON.parse(readFileSync(home.path('run', 'verdict.json'), 'utf8')),
    );
  });

  test('refuses a switch without effect on what runs, by either kind', async (t) => {
    for (const kind of [['--design'], []]) {
      const home = newHome(t);
      const matrix = matrixOf(home, { FAKE_FAULT: 'lame-switch' });
      const result = await home.run('switches', matrix, ...asked, ...kind, '--rounds', '1', '--out', 'run');
      assert.equal(result.exitCode, 14, result.stdout + result.stderr);
      assert.equal(percents(home)[2], undefined);
      assert.match(result.stdout, /switch-without-effect/);
    }
  });

  test('--print shows a matrix that can be run, and runs nothing', async (t) => {
    const home = newHome(t);
    const result = await home.run('switches', matrixOf(home), ...asked, '--design', '--print');
    assert.equal(result.exitCode, 0, result.stderr);
    const matrix = parseMatrix(result.stdout, 'printed');
    assert.deepEqual(breachesOf(matrix), []);
    writeFileSync(home.path('printed.yaml'), result.stdout);
    const planned = await home.run('plan', 'printed.yaml');
    assert.equal(planned.exitCode, 0, planned.stderr);
    await home.run('run', 'printed.yaml', '--rounds', '1', '--out', 'run');
    assert.equal(home.verdict().ablation?.kind, 'folded-plackett-burman');
  });

  test('says what is wrong with a switch, with a matrix without switches, and with an odd number of rounds', async (t) => {
    const home = newHome(t);
    const matrix = matrixOf(home);
    for (const [args, message] of [
      [['--switch', 'FAKE_A=1'], /NAME=LOW,HIGH/],
      [['--switch', 'FAKE_A=1,1'], /NAME=LOW,HIGH/],
      [['--switch', 'fake_a=0,1'], /NAME=LOW,HIGH/],
      [[], /0 switches: an ablation has from 1 to 16/],
      [[...asked, '--rounds', '7'], /use 8 instead of 7/],
    ] as const) {
      const result = await home.run('switches', matrix, ...args);
      assert.equal(result.exitCode, 64, result.stdout + result.stderr);
      assert.match(result.stderr, message);
    }
  });

  test('a plan whose design was changed afterwards does not verify', async (t) => {
    const home = newHome(t);
    await home.run('switches', matrixOf(home), ...asked, '--rounds', '1', '--out', 'run');
    const path = home.path('run', 'plan.json');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"FAKE_C"', '"FAKE_D"'));
    const verified = await home.run('verify', 'run');
    assert.equal(verified.exitCode, 16);
  });
});
