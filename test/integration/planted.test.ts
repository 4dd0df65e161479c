/** A planted slowdown: in the engine's process, in a session, and where an engine says other than what was planned. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { planSchema } from '../../src/plan/schema.js';
import { fakeModel, type Host, startHost } from '../fixtures/native-host.js';
import { newHome } from '../support/run-cli.js';

async function newHost(t: TestContext, ...args: string[]): Promise<Host> {
  const model = fakeModel();
  t.after(() => model.remove());
  const host = await startHost(['--model', model.path, '--threads', '2', ...args]);
  t.after(() => host.stop());
  return host;
}

const times = async (host: Host): Promise<Record<string, number>> => {
  const { body } = await host.post('/completion', { prompt: [1, 2, 3], n_predict: 3 });
  return body.timings as Record<string, number>;
};

describe('the engine host', () => {
  test('takes the planted share longer by both clocks, of CPU time no more, and says so', async (t) => {
    const host = await newHost(t, '--plant-slowdown', '50');
    const slowed = await times(host);
    // What the fake claims, and half as much again. By the wall it may take longer, where others work; each of two threads
    // stops at the first look at its clock that finds its part done, of looks less than 0.05 ms apart.
    for (const [name, least, most] of [
      ['prompt_ms', 6, Number.POSITIVE_INFINITY],
      ['prompt_cpu_ms', 12, 12.1],
      ['predicted_ms', 3, Number.POSITIVE_INFINITY],
      ['predicted_cpu_ms', 6, 6.1],
    ] as const) {
      const ms = slowed[name] ?? 0;
      assert.ok(ms >= least && ms <= most, `${name} ${ms}`);
    }
    const props = JSON.parse((await host.get('/props')).text);
    assert.equal(props.planted_slowdown_percent, 50);
    assert.equal(props.counters['planted.slowdown'], 1);
  });

  test('adds nothing when nothing is planted', async (t) => {
    const host = await newHost(t);
    const { prompt_ms, prompt_cpu_ms, predicted_ms, predicted_cpu_ms } = await times(host);
    assert.deepEqual([prompt_ms, prompt_cpu_ms, predicted_ms, predicted_cpu_ms], [4, 8, 2, 4]);
    const props = JSON.parse((await host.get('/props')).text);
    assert.equal(props.planted_slowdown_percent, 0);
    assert.equal('planted.slowdown' in props.counters, false);
  });

  test('refuses a share that is none', async (t) => {
    for (const share of ['51', '-3', '3%', 'much'])
      await assert.rejects(newHost(t, `--plant-slowdown=${share}`), /exit 64: .*--plant-slowdown/);
  });
});

describe('qualify run --plant-slowdown', () => {
  test('finds it, and says in plan, title and reasons that it was planted', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix(), '--plant-slowdown', '20%', '--out', 'run');
    assert.equal(result.exitCode, 10, result.stderr);
    assert.match(result.stdout, /PLANTED slowdown of 20 %: Two arms/);
    const { arms } = planSchema.parse(JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8')));
    const planted = arms.filter(({ control }) => control === undefined);
    assert.deepEqual(
      planted.map(({ name, plantedSlowdownPercent }) => [name, plantedSlowdownPercent]),
      [
        ['base', undefined],
        ['head', 20],
      ],
    );
    const verdict = home.verdict();
    assert.equal(verdict.result, 'fail');
    assert.ok(verdict.reasons.some(({ code }) => code === 'planted'));
    assert.match(readFileSync(home.path('run', 'report.md'), 'utf8'), /arm head.*PLANTED slowdown of 20 %/);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('is no qualification where the slowdown stays within the budget', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix(), '--plant-slowdown', '3', '--out', 'run');
    assert.equal(result.exitCode, 11, result.stderr);
    const verdict = home.verdict();
    assert.equal(verdict.cells[0]?.verdict, 'pass');
    assert.equal(verdict.result, 'inconclusive');
  });

  test('refuses what is no percentage', async (t) => {
    const home = newHome(t);
    for (const share of ['0', '60%', 'some'])
      assert.equal((await home.run('run', home.fakeMatrix(), '--plant-slowdown', share)).exitCode, 64);
  });
});

describe('an engine that says otherwise', () => {
  test('is unmatched when it is slowed down and nobody asked', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ head: { FAKE_FAULT: 'secret-slowdown' } });
    assert.equal((await home.run('run', matrix, '--out', 'run')).exitCode, 14);
    const codes = home.verdict().cells[0]?.comparisons[0]?.reasons.map(({ code }) => code);
    assert.ok(codes?.includes('planting-differs'), String(codes));
  });

  test('is unmatched when it was asked and is not slowed down', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ head: { FAKE_FAULT: 'not-slowed' } });
    const result = await home.run('run', matrix, '--plant-slowdown', '20%', '--out', 'run');
    assert.equal(result.exitCode, 14, result.stderr);
    const codes = home.verdict().cells[0]?.comparisons[0]?.reasons.map(({ code }) => code);
    assert.ok(codes?.includes('planting-differs'), String(codes));
  });
});

describe('arms made by flags', () => {
  test('are refused where a matrix may not have them', async (t) => {
    const home = newHome(t);
    const revisions = ['Twin', 'twin'].map((name) => `prebuilt:${home.fakeBuild(name)}`);
    const result = await home.run('compare', ...revisions, '--matrix', home.fakeMatrix(), '--out', 'run');
    assert.equal(result.exitCode, 64, result.stderr);
    assert.match(result.stderr, /"Twin" and "twin" differ only in case/);
  });
});

describe('qualify compare --lever', () => {
  test('plans an arm of the last revision with the levers at their kill values', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { looks: [1] });
    const revisions = ['one', 'two'].map((name) => `prebuilt:${home.fakeBuild(name)}`);
    const lever = 'DFLASH_MOE_GROUPED_MMID_PREFILL=0';
    await home.run('compare', ...revisions, '--lever', lever, '--matrix', matrix, '--out', 'run');
    const { arms } = planSchema.parse(JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8')));
    const [base, head, off] = arms;
    assert.deepEqual(
      [base?.switches, head?.switches, off?.switches],
      [{}, {}, { DFLASH_MOE_GROUPED_MMID_PREFILL: '0' }],
    );
    assert.equal(off?.control, 'lever-off');
    assert.equal(off?.revision, head?.revision);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
    for (const wrong of ['lower=1', 'NAME'])
      assert.equal((await home.run('pr', '--lever', wrong)).exitCode, 64);
  });
});
