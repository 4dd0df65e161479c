/** The controls of a session through the real CLI, on fake engines whose launches differ in what no witness tells. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type Home, newHome } from '../support/run-cli.js';

interface PlanAnswer {
  estimate: { launches: number; nullArm: { launches: number } };
  plan: { arms: { name: string; control?: string }[]; rounds: { order: string[] }[] };
}

async function planOf(home: Home, matrix: string, seed: string): Promise<PlanAnswer> {
  const { exitCode, stdout, stderr } = await home.run('plan', matrix, '--seed', seed, '--json');
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout);
}

/** Slows down the launches of a home's engine that stand at these places of the session, counted from 0. */
function slowDown(home: Home, places: readonly number[], factor: number): void {
  const serve = home.path('fake', 'serve');
  const [shebang, ...rest] = readFileSync(serve, 'utf8').split('\n');
  const counter = home.path('launches');
  const count = [
    `place=$(wc -l <'${counter}' 2>/dev/null || echo 0)`,
    `echo >>'${counter}'`,
    `case " ${places.join(' ')} " in *" $((place)) "*) set -- "$@" --slowdown ${factor};; esac`,
  ];
  writeFileSync(serve, [shebang, ...count, ...rest].join('\n'));
}

describe('the null arm of a session', () => {
  test('is planned, launched, found in order, and verified', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { nullRounds: 2, samples: 5 });
    const { plan, estimate } = await planOf(home, matrix, 'a seed');
    assert.deepEqual(
      plan.arms.map(({ name }) => name),
      ['base', 'head', 'null'],
    );
    assert.deepEqual([estimate.launches, estimate.nullArm.launches], [14, 2]);
    const described = await home.run('plan', matrix, '--seed', 'a seed');
    assert.match(described.stdout, /null arm +in 2 rounds: 2 launches, about \d+ \w+ of the time below/);

    const result = await home.run('run', matrix, '--out', 'run', '--seed', 'a seed');
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    const launched = home.journal().flatMap((entry) => (entry.kind === 'launch' ? [entry.arm] : []));
    assert.deepEqual(
      launched,
      plan.rounds.flatMap(({ order }) => order),
    );
    assert.match(result.stdout, /controls\n(?: .*\n)*? {2}null +ok, 64\/32: base against itself ±0\.00 %/);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('that is slower than the reference contaminates the session, and the folder verifies', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { nullRounds: 2, samples: 5 });
    const { plan } = await planOf(home, matrix, 'a seed');
    const places = plan.rounds
      .flatMap(({ order }) => order)
      .flatMap((arm, place) => (arm === 'null' ? [place] : []));
    slowDown(home, places, 1.3);
    const result = await home.run('run', matrix, '--out', 'run', '--seed', 'a seed');
    assert.equal(result.exitCode, 14, result.stdout + result.stderr);
    const verdict = home.verdict();
    assert.equal(verdict.result, 'contaminated', JSON.stringify(verdict.reasons));
    assert.deepEqual(
      verdict.reasons.map(({ code }) => code),
      ['null-arm-moved'],
    );
    assert.deepEqual(verdict.cells[0]?.arms, {});
    assert.match(result.stdout, /null +EXCEEDED, 64\/32: base against itself -2\d/);
    const verified = await home.run('verify', 'run');
    assert.equal(verified.exitCode, 0, verified.stderr);
  });

  test('is nothing that a matrix can bring along', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix({ null: {} }), '--out', 'run');
    assert.equal(result.exitCode, 64);
    assert.match(result.stderr, /arms\.null: the null arm is added by the plan/);
  });
});

describe('a lever-off arm', () => {
  test('as fast as the head takes the gain from its switches, and the run verifies', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix();
    const [one, two] = ['one', 'two'].map((name) => `prebuilt:${home.fakeBuild(name)}`);
    const speed = (us: string) => ({ FAKE_US_PER_TOKEN: us });
    const arms = {
      base: { revision: one },
      head: { revision: two, switches: speed('40') },
      off: { revision: two, switches: speed('41'), control: 'lever-off' },
    };
    writeFileSync(matrix, JSON.stringify({ ...JSON.parse(readFileSync(matrix, 'utf8')), arms }));
    const result = await home.run('run', matrix, '--out', 'run');
    assert.equal(result.exitCode, 0, result.stdout + result.stderr);
    const comparisons = home.verdict().cells[0]?.comparisons;
    assert.deepEqual(
      comparisons?.map(({ arm, detail, reasons }) => [arm, detail, ...reasons.map(({ code }) => code)]),
      [['head', 'neutral', 'gain-not-the-levers']],
    );
    assert.match(result.stdout, /lever-off +EXCEEDED, 64\/32: off against base \+2\d/);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });
});

describe('one round', () => {
  test('is shown with what it can and cannot say, and passes nothing', async (t) => {
    const home = newHome(t);
    const result = await home.run(
      'run',
      home.fakeMatrix({}, { samples: 5 }),
      '--out',
      'run',
      '--rounds',
      '1',
    );
    assert.equal(result.exitCode, 11);
    assert.equal(home.verdict().protocol, 'small');
    const text = result.stdout.replaceAll(/\s+/g, ' ');
    assert.match(text, /Small protocol, one launch of each arm\. The 5 requests of a launch share/);
    assert.match(text, /31 % of comparisons of equal things/);
    assert.match(text, /no p, no interval, and no "no regression"/);
    assert.match(readFileSync(home.path('run', 'report.md'), 'utf8'), /Small protocol, one launch/);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });
});

describe('a lever that no engine knows', () => {
  test('is warned of before anything is measured, and the control says why it was not taken', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { looks: [2] });
    const revisions = ['one', 'two'].map((name) => `prebuilt:${home.fakeBuild(name)}`);
    const flags = ['--matrix', matrix, '--lever', 'FOO=0', '--rounds', '1', '--out', 'run'];
    const { stdout, stderr } = await home.run('compare', ...revisions, ...flags);
    assert.match(stderr, /^warning: arm lever-off: this engine has no switch FOO/m);
    const [control] = home.verdict().controls.filter(({ name }) => name === 'lever-off');
    assert.equal(control?.status, 'not-taken', stdout);
    assert.match(
      control?.message ?? '',
      /not proved to be comparable with \S+: \S+-lever-off: asked for FOO=0, but the engine does not know it; give the lever/,
    );
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });
});
