/** Sessions of the simulated engine, by the real CLI and the real processes. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { harnessFolder } from '../../src/harness.js';
import type { Entry } from '../../src/journal/entries.js';
import { takeMachineLock } from '../../src/machine/lock.js';
import { replaySimulation } from '../../src/manifest/replay-simulation.js';
import { builtInPath } from '../../src/matrix/built-in.js';
import { type Plan, planSchema } from '../../src/plan/schema.js';
import { eventually } from '../support/eventually.js';
import { type Home, newHome } from '../support/run-cli.js';

const planOf = (home: Home, run: string): Plan =>
  planSchema.parse(JSON.parse(readFileSync(home.path(run, 'plan.json'), 'utf8')));

/** The built-in matrix with two of its cells, so that a session takes seconds; answers its path. */
function twoCells(home: Home): string {
  const text = readFileSync(builtInPath('simulated'), 'utf8');
  const lines = text.split('\n').filter((line) => !/promptTokens/.test(line) || /401|256/.test(line));
  writeFileSync(home.path('two.yaml'), lines.join('\n'));
  return home.path('two.yaml');
}

/** The cells that a launch was asked, each once, in order. */
const cellsAsked = (entries: readonly Entry[], launch: string): string[] => [
  ...new Set(
    entries.flatMap((entry) => (entry.kind === 'sample' && entry.launch === launch ? [entry.cell] : [])),
  ),
];

/** The same by option: no verdict on the matrix then. */
const FEW = ['--cell', '401/512', '--cell', '256+32'];

describe('qualify simulate', () => {
  test('says why it needs the machine though it measures nothing', async (t) => {
    const home = newHome(t);
    const address = `\0${home.environment.QUALIFY_LOCK}`;
    const lock = await takeMachineLock({ what: 'another session', wait: false, address });
    t.after(() => lock.release());
    const { exitCode, stderr } = await home.run('simulate', ...FEW);
    assert.equal(exitCode, 15, stderr);
    assert.match(stderr, /another session.*simulation measures nothing, but its processes would disturb/s);
  });

  test('finds a slowdown that is there: exit 10, in an ordinary run folder that verifies', async (t) => {
    const home = newHome(t);
    const flags = ['--effect', '-8%', '--seed', 'slower', '--out', 'run'];
    const result = await home.run('simulate', twoCells(home), ...flags);
    assert.equal(result.exitCode, 10, result.stderr);
    assert.match(result.stdout, /SIMULATED: nothing was measured/);
    assert.match(result.stdout, /true effects: base 0 %, head -8 %/);
    assert.match(result.stderr, /^SIMULATED/);
    assert.deepEqual(
      home.verdict().cells.map(({ verdict }) => verdict),
      ['fail', 'fail'],
    );
    const verified = await home.run('verify', 'run', '--json');
    assert.equal(verified.exitCode, 0, verified.stderr);
    assert.match(verified.stdout, /"simulation": \{/);
    const csv = await home.run('report', 'run', '--format', 'csv');
    const lines = csv.stdout.trim().split('\r\n').slice(1);
    assert.ok(lines.length > 0 && lines.every((line) => line.includes(',simulated,')), csv.stdout);
    const text = await home.run('verify', 'run');
    assert.match(text.stdout, /SIMULATED/);
    assert.match(readFileSync(home.path('run', 'report.md'), 'utf8'), /\*\*SIMULATED/);
    assert.ok(home.verdict().warnings.some(({ code }) => code === 'simulated'));
  });

  test('passes what does not differ on a bad machine, and says which noise it had', async (t) => {
    const home = newHome(t);
    const noise = [
      ...['--cv', '0.3', '--launch-cv', '0.1%', '--drift', '-4%', '--walk', '0.05', '--step', '1.5%'],
      ...['--warmup-ramp', '2', '--second-slot', '-0.5', '--slow-hits', '3%:8%'],
    ];
    const flags = [...noise, '--seed', 'a', '--out', 'run', '--json'];
    const result = await home.run('simulate', twoCells(home), ...flags);
    assert.equal(result.exitCode, 0, result.stderr);
    const { tokensPerSecond: _ofTheMatrix, ...told } = planOf(home, 'run').simulation ?? {};
    assert.deepEqual(told, {
      ...{ cvPercent: 0.3, launchCvPercent: 0.1, driftPercent: -4, walkPercent: 0.05, stepPercent: 1.5 },
      ...{ warmupRampPercent: 2, secondSlotPercent: -0.5, slowHitShare: 0.03, slowHitPercent: 8 },
    });
  });

  test('goes on with the cell that a look left open, with that one alone, and stops when none is', async (t) => {
    const home = newHome(t);
    const text = readFileSync(twoCells(home), 'utf8')
      .replace('looks: [6, 12, 18, 24]', 'looks: [6, 8, 10]\n  nullRounds: 0')
      .replace('prefill: 2, decode: 2', 'prefill: 20, decode: 0.1');
    writeFileSync(home.path('open.yaml'), text);
    const flags = ['--seed', 'SEED', '--out', 'run'];
    const { exitCode, stderr } = await home.run('simulate', home.path('open.yaml'), ...flags);
    const entries = home.journal();
    const looks = entries.flatMap((entry) =>
      entry.kind === 'look' ? [[entry.rounds, entry.undecided]] : [],
    );
    assert.deepEqual(looks, [
      [6, ['256+32']],
      [8, []],
    ]);
    const asked = entries.flatMap((entry) =>
      entry.kind === 'launch' ? [cellsAsked(entries, entry.launch)] : [],
    );
    const both = Array.from({ length: 12 }, () => ['401/512', '256+32']);
    const open = Array.from({ length: 4 }, () => ['256+32']);
    assert.deepEqual(asked, [...both, ...open]);
    assert.equal(exitCode, 0, stderr);
    const verified = await home.run('verify', 'run');
    assert.equal(verified.exitCode, 0, verified.stderr);
  });

  test('gives the same times for the same seed, whatever the machine does meanwhile', async (t) => {
    const home = newHome(t);
    const times = async (run: string): Promise<unknown[]> => {
      await home.run('simulate', '--seed', 'same', '--rounds', '1', ...FEW, '--out', run);
      return home
        .journal(run)
        .flatMap((entry) =>
          entry.kind === 'sample' ? [[entry.launch, entry.answer.promptMs, entry.answer.predictedMs]] : [],
        );
    };
    const [one, other] = [await times('one'), await times('other')];
    // Base, head and the null arm; two cells of two warm-ups, five samples and one for parity.
    assert.equal(one.length, 3 * 2 * 8);
    assert.deepEqual(one, other);
  });

  test('claims no more time than the client sees, and really reuses what it caches', async (t) => {
    const home = newHome(t);
    // A tenth of a second a request, so that what a busy machine adds does not hide a wait that is missing.
    const slow = readFileSync(twoCells(home), 'utf8')
      .replace('200000', '4000')
      .replace('samples: 5', 'samples: 1');
    writeFileSync(home.path('slow.yaml'), slow);
    await home.run('simulate', home.path('slow.yaml'), '--rounds', '1', '--out', 'run');
    for (const entry of home.journal()) {
      if (entry.kind === 'sample') {
        const { clientMs, promptMs, predictedMs, cacheN } = entry.answer;
        assert.ok(clientMs >= (promptMs ?? 0) + (predictedMs ?? 0) - 0.001);
        assert.equal(cacheN, 0);
      }
      if (entry.kind === 'control') assert.deepEqual([entry.first.cacheN, entry.second.cacheN], [0, 255]);
    }
  });

  test('does not verify with a time or a noise that the plan does not make', async (t) => {
    const home = newHome(t);
    await home.run('simulate', '--rounds', '1', ...FEW, '--out', 'run');
    const plan = planOf(home, 'run');
    const entries = home.journal();
    assert.doesNotThrow(() => replaySimulation(plan, entries));
    const faster = structuredClone(entries);
    const sample = faster.find((entry) => entry.kind === 'sample');
    assert.ok(sample?.answer.promptMs);
    sample.answer.promptMs *= 0.97;
    assert.throws(() => replaySimulation(plan, faster), /noise of the plan does not make/);
    const told = structuredClone(entries);
    const launch = told.find((entry) => entry.kind === 'launch');
    assert.ok(launch);
    launch.argv = launch.argv.map((word) => word.replace('"effectPercent":0', '"effectPercent":1'));
    assert.throws(() => replaySimulation(plan, told), /another noise than the plan/);
  });

  test('refuses with exit 64 what it cannot simulate', async (t) => {
    const home = newHome(t);
    const commands = [
      ['simulate', 'smoke'],
      ['simulate', '--effect', 'much'],
      ['simulate', '--effect', '-80%'],
      ['simulate', '--cv', '-1%'],
      ['simulate', '--slow-hits', '3%'],
      ['simulate', '--slow-hits', '3%:1%'],
    ];
    for (const command of commands) {
      const result = await home.run(...command);
      assert.equal(result.exitCode, 64, `${command.join(' ')}: ${result.stderr}`);
    }
  });
});

test('only simulate takes a simulated matrix: a pass of it must not look like one of an engine', async (t) => {
  const home = newHome(t);
  const commands = [
    ['run', 'simulated'],
    ['switches', 'simulated', '--switch', 'FAKE_A=0,1'],
    ['oracle', 'simulated'],
    ['pr', '--base', 'HEAD', '--matrix', 'simulated'],
    ['compare', 'HEAD', 'worktree', '--matrix', 'simulated'],
  ];
  for (const command of commands) {
    const result = await home.start(command, { cwd: harnessFolder }).finished;
    assert.equal(result.exitCode, 64, `${command.join(' ')}: ${result.stderr}`);
    assert.match(result.stderr, /ERR_QUALIFY_SIMULATED/);
    assert.match(result.stderr, /qualify simulate runs it/);
  }
  for (const command of [
    ['plan', 'simulated'],
    ['matrix', 'show', 'simulated'],
    ['matrix', 'lint', 'simulated'],
  ])
    assert.equal((await home.run(...command)).exitCode, 0, command.join(' '));
});

describe('qualify calibrate --simulated', () => {
  test('counts the same with one thread and with three, and exits by its goals', async (t) => {
    const home = newHome(t);
    const run = (jobs: string) =>
      home.run('calibrate', '--simulated', '--matrices', '2', '--seed', 'x', '--jobs', jobs, '--json');
    const [one, three] = [await run('1'), await run('3')];
    assert.equal(one.stdout, three.stdout);
    const { exitCode, goals, scenarios, simulated } = JSON.parse(one.stdout);
    assert.equal(one.exitCode, exitCode);
    const held: (boolean | null)[] = goals.map(({ holds }: { holds: boolean | null }) => holds);
    assert.equal(exitCode, held.includes(false) ? 10 : held.includes(null) ? 11 : 0);
    assert.equal(simulated, true);
    assert.equal(scenarios.length, 220);
    for (const { cells, matricesPassed } of scenarios) {
      const counts = Object.values(cells as Record<string, { count: number; of: number }>);
      assert.equal(
        counts.reduce((sum, { count }) => sum + count, 0),
        16,
      );
      assert.equal(matricesPassed.of, 2);
    }
  });

  test('exits 11 where so few matrices miss no goal and cannot show them all', async (t) => {
    const { exitCode, stdout } = await newHome(t).run('calibrate', '--simulated', '--matrices', '100');
    assert.equal(exitCode, 11, stdout);
    assert.match(stdout.replaceAll(/\s+/g, ' '), /\? A cell on the margin .* 52 of 800/);
    assert.match(stdout, /cannot tell with so few matrices/);
  });

  for (const args of [
    ['--matrices', '5'],
    ['--markdown'],
    ['--simulated', '--sessions', '3'],
    ['--simulated', '--plant-slowdown', '3%'],
  ])
    test(`refuses an option that would change nothing: ${args.join(' ')}`, async (t) => {
      const home = newHome(t);
      const { exitCode, stderr } = await home.run('calibrate', ...args);
      assert.equal(exitCode, 64, stderr);
      assert.match(stderr, /--\S+ means nothing with(out)? --simulated[\s\S]*next: [\s\S]*ERR_QUALIFY_USAGE/);
      assert.deepEqual(readdirSync(home.folder), ['tmp']);
    });

  test('stops at Ctrl-C with exit code 12', async (t) => {
    const home = newHome(t);
    const { child, finished, stderr } = home.start(['calibrate', '--simulated', '--matrices', '100000']);
    await eventually(() => stderr().includes('simulated 1 of') || child.exitCode !== null, 'it simulates');
    child.kill('SIGINT');
    const { exitCode } = await finished;
    assert.equal(exitCode, 12);
  });
});

test('qualify calibrate refuses a simulated matrix: it would call made-up noise that of the machine', async (t) => {
  const home = newHome(t);
  const result = await home.run('calibrate', '--matrix', twoCells(home));
  assert.equal(result.exitCode, 64, result.stderr);
  assert.match(result.stderr, /ERR_QUALIFY_SIMULATED/);
  assert.match(result.stderr, /name a matrix of real engines/);
  assert.equal(existsSync(home.path('config', 'qualify', 'calibration.json')), false);
});
