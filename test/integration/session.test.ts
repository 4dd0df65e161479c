/** The real CLI on fake engines, from the matrix to the exit code. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { takeMachineLock } from '../../src/machine/lock.js';
import { ofABusyMachine } from '../support/busy-machine.js';
import { newHome } from '../support/run-cli.js';

const FILES = [
  'plan.json',
  'journal.jsonl',
  'evidence/machine.json',
  'evidence.sha256',
  'verdict.json',
  'qualification.intoto.jsonl',
  'qualification.intoto.jsonl.sig',
  'qualification.sigstore.json',
  'report.md',
];

describe('qualify run', () => {
  test('passes a head that is no slower, and seals a run folder that verifies', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix(), '--out', 'run', '--seed', 'a seed');
    assert.equal(result.exitCode, 0, result.stderr);
    assert.match(result.stdout, /qualify verify run/);
    for (const file of FILES) assert.ok(existsSync(home.path('run', file)), file);
    const verified = await home.run('verify', 'run');
    assert.equal(verified.exitCode, 0, verified.stderr);
  });

  test('writes every launch of the plan in its order, each with its proofs', async (t) => {
    const home = newHome(t);
    await home.run('run', home.fakeMatrix(), '--out', 'run', '--rounds', '2');
    const plan = JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8'));
    const entries = home.journal();
    const launches = entries.filter((entry) => entry.kind === 'launch');
    assert.deepEqual(
      launches.map((entry) => entry.arm),
      plan.rounds.flatMap((round: { order: string[] }) => round.order),
    );
    assert.equal(new Set(launches.map((entry) => entry.nonce)).size, 4);
    for (const { launch } of launches) {
      const kinds = entries.flatMap((entry) =>
        'launch' in entry && entry.launch === launch ? [entry.kind] : [],
      );
      const samples = ['sample', 'sample', 'sample', 'sample', 'sample'];
      assert.deepEqual(kinds, [
        ...['launch', 'ready', 'conditions', 'control', ...samples],
        ...['load', 'telemetry', 'counters', 'stop'],
      ]);
    }
    const requests = entries.flatMap((entry) =>
      entry.kind === 'sample' ? [[entry.purpose, entry.answer.tokens.length]] : [],
    );
    assert.deepEqual(requests.slice(0, 5), [
      ['warmup', 1],
      ['sample', 1],
      ['sample', 1],
      ['sample', 1],
      ['parity', 16],
    ]);
    assert.equal(entries[0]?.kind, 'session');
    assert.equal(entries.at(-1)?.kind, 'end');
  });

  test('refuses a run folder in a place where none can be made, and does not hang', async (t) => {
    const home = newHome(t);
    const nowhere = await home.run('run', home.fakeMatrix(), '--out', '/proc/none/x');
    assert.equal(nowhere.exitCode, 15, nowhere.stderr);
    assert.match(nowhere.stderr, /Cannot make the run folder \/proc\/none\/x[\s\S]*next: .*--out/);
    const inFile = await home.run('run', home.fakeMatrix(), '--out', 'matrix.yaml/x');
    assert.equal(inFile.exitCode, 15, inFile.stderr);
  });

  test('gives an engine the allow-list and the switches of its arm, and nothing else', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ head: { FAKE_US_PER_TOKEN: '51' } }, { looks: [1] });
    await home.start(['run', matrix, '--out', 'run'], {
      environment: { DFLASH_MOE_GROUPED_MMID_PREFILL: '0', SECRET: 'x' },
    }).finished;
    const environments = home
      .journal()
      .flatMap((entry) => (entry.kind === 'launch' ? [Object.keys(entry.environment)] : []));
    const allowed = ['FAKE_US_PER_TOKEN', 'HOME', 'LANG', 'PATH', 'QUALIFY_LAUNCH', 'TMPDIR'];
    assert.equal(environments.length, 2);
    for (const names of environments)
      assert.deepEqual(
        names.filter((name) => !allowed.includes(name)),
        [],
      );
  });

  test('gives each launch an empty HOME and TMPDIR of its own, and takes them away', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { looks: [1] });
    // What the engine left in an earlier launch would show in the log of the next.
    const serve = home.path('fake', 'serve');
    const [shebang, ...rest] = readFileSync(serve, 'utf8').split('\n');
    const look = 'ls -A "$HOME" "$TMPDIR" >&2; : >"$HOME/cache"; : >"$TMPDIR/cache"';
    writeFileSync(serve, [shebang, look, ...rest].join('\n'));
    await home.run('run', matrix, '--out', 'run');
    const launches = home.journal().flatMap((entry) => (entry.kind === 'launch' ? [entry] : []));
    const folders = launches.flatMap(({ environment: { HOME, TMPDIR } }) => [HOME ?? '', TMPDIR ?? '']);
    assert.equal(new Set(folders).size, 4);
    for (const { launch } of launches) {
      const log = readFileSync(home.path('run', 'evidence', 'launches', `${launch}.log`), 'utf8');
      assert.doesNotMatch(log, /^cache$/m);
    }
    for (const folder of folders) assert.equal(existsSync(folder), false, folder);
    assert.deepEqual(readdirSync(home.path('tmp')), []);
  });

  test('gives no verdict when a file of a build changes while it runs', async (t) => {
    const home = newHome(t);
    // Requests so long that a stall on a busy machine does not part the clocks, which would be told first.
    const slow = { FAKE_US_PER_TOKEN: '2000' };
    const matrix = home.fakeMatrix({ base: slow, head: slow }, { looks: [1] });
    const serve = home.path('fake', 'serve');
    const [shebang, ...rest] = readFileSync(serve, 'utf8').split('\n');
    writeFileSync(home.path('fake', 'library.so'), 'one');
    writeFileSync(serve, [shebang, `echo two >'${home.path('fake', 'library.so')}'`, ...rest].join('\n'));
    const result = await home.run('run', matrix, '--out', 'run');
    assert.equal(result.exitCode, 15, result.stderr);
    assert.match(result.stderr, /ERR_QUALIFY_BINARY_CHANGED/);
    const failures = home.journal().flatMap((entry) => (entry.kind === 'failure' ? [entry.code] : []));
    assert.deepEqual(failures, ['ERR_QUALIFY_BINARY_CHANGED']);
  });

  test('fails a head that is slower than its budget with exit code 10', async (t) => {
    const home = newHome(t);
    const result = await home.run(
      'run',
      home.fakeMatrix({ head: { FAKE_US_PER_TOKEN: '70' } }),
      '--out',
      'run',
    );
    assert.equal(result.exitCode, 10, result.stderr);
    assert.equal(home.verdict().cells[0]?.comparisons[0]?.detail, 'beyond-budget');
  });

  test('prints verdict.json with --json, byte for byte, and nothing else on stdout', async (t) => {
    const home = newHome(t);
    const result = await home.run('run', home.fakeMatrix(), '--out', 'run', '--rounds', '1', '--json');
    // 11 as one round decides nothing; 14 where others took the machine meanwhile.
    assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
    const verdict = readFileSync(home.path('run', 'verdict.json'), 'utf8').trimEnd();
    assert.equal(result.exitCode, (JSON.parse(verdict) as { exitCode: number }).exitCode);
    assert.equal(result.stdout.trimEnd(), verdict);
  });

  test('names who measures when the machine is taken, with exit code 15 and no run folder', async (t) => {
    const home = newHome(t);
    const lock = await takeMachineLock({
      what: 'another session',
      wait: false,
      address: `\0test ${home.folder}`,
    });
    t.after(() => lock.release());
    const result = await home.run('run', home.fakeMatrix(), '--out', 'run');
    assert.equal(result.exitCode, 15);
    assert.match(result.stderr, /another session/);
    assert.equal(existsSync(home.path('run')), false);
  });

  test('refuses what it cannot begin with exit code 64', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix();
    writeFileSync(home.path('broken.yaml'), 'schemaVersion: 2\n');
    const commands = [
      ['run'],
      ['run', 'no-such-matrix'],
      ['run', 'broken.yaml'],
      ['run', matrix, '--rounds', '0'],
      ['run', matrix, '--out', home.folder],
      ['compare', 'no-such-ref', 'worktree', '--matrix', matrix],
      ['compare', 'prebuilt:nowhere', `prebuilt:${home.folder}`, '--matrix', matrix],
    ];
    for (const command of commands) {
      const result = await home.run(...command);
      assert.equal(result.exitCode, 64, `${command.join(' ')}: ${result.stderr}`);
    }
  });

  test('ends with exit code 15 and a readable run folder when the model is missing', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix();
    writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('model.gguf', 'missing.gguf'));
    const result = await home.run('run', matrix, '--out', 'run');
    assert.equal(result.exitCode, 15, result.stderr);
    assert.match(result.stderr, /ERR_QUALIFY_MODEL_FAILED/);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });
});

describe('qualify compare', () => {
  test('compares more than two revisions against the first', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { looks: [1] });
    const revisions = ['one', 'two', 'three'].map((name) => `prebuilt:${home.fakeBuild(name)}`);
    const result = await home.run('compare', ...revisions, '--matrix', matrix, '--out', 'run');
    // 11 as one round decides nothing; 14 where others took the machine meanwhile.
    const isBusy = home.verdict().reasons.every(({ code }) => ofABusyMachine.includes(code));
    assert.equal(result.exitCode, isBusy ? 14 : 11, result.stderr);
    const arms = home.verdict().cells[0]?.comparisons.map(({ arm, against }) => [arm, against]);
    assert.deepEqual(arms, [
      ['two', 'one'],
      ['three', 'one'],
    ]);
  });
});
