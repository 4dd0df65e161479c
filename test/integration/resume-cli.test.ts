/** What `qualify resume` takes, what it refuses, and that a refusal changes nothing. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { harnessFolder } from '../../src/harness.js';
import { takeMachineLock } from '../../src/machine/lock.js';
import { sameBuilds } from '../../src/session/same-builds.js';
import { makeJournal, makePlan } from '../fixtures/journal.js';
import { eventually } from '../support/eventually.js';
import { type CliResult, Home } from '../support/run-cli.js';

/** A home with a run that was killed in its second launch, `killed`: made from a whole one, once for all tests. */
async function withKilledRun(): Promise<Home> {
  const home = new Home();
  const result = await home.run('run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run');
  assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
  const path = home.path('run', 'journal.jsonl');
  const lines = readFileSync(path, 'utf8').split('\n');
  const cut = lines.findLastIndex((line) => line.includes('"kind":"sample"'));
  writeFileSync(path, `${lines.slice(0, cut).join('\n')}\n`);
  for (const name of readdirSync(home.path('run')))
    if (!['plan.json', 'journal.jsonl', 'evidence'].includes(name)) rmSync(home.path('run', name));
  renameSync(home.path('run'), home.path('killed'));
  return home;
}

let shared: Promise<Home> | undefined;
after(async () => (await shared)?.remove());

/** The home in which `run` is as it was when it was killed. */
async function killedRun(): Promise<Home> {
  shared ??= withKilledRun();
  const home = await shared;
  rmSync(home.path('run'), { recursive: true, force: true });
  cpSync(home.path('killed'), home.path('run'), { recursive: true });
  return home;
}

/** Every file of a folder with its digest. */
const contents = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => `${path} ${sha256(readFileSync(path))}`)
    .sort();

/** Resumes, is refused, and finds the run as it was. */
async function refusal(home: Home, exitCode: number, ...parts: (string | RegExp)[]): Promise<CliResult> {
  const before = contents(home.path('run'));
  const result = await home.run('resume', 'run');
  assert.equal(result.exitCode, exitCode, result.stderr);
  for (const part of parts) assert.match(result.stderr, new RegExp(part));
  assert.deepEqual(contents(home.path('run')), before);
  return result;
}

const edit = (home: Home, file: string, from: RegExp | string, to: string): void => {
  const text = readFileSync(home.path('run', file), 'utf8');
  const edited = text.replace(from, to);
  assert.notEqual(edited, text);
  writeFileSync(home.path('run', file), edited);
};

describe('qualify resume', () => {
  test('takes the folder of a run, or the name of its session', async () => {
    const home = await killedRun();
    const { session } = JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8'));
    mkdirSync(home.path('.qualify', 'runs'), { recursive: true });
    renameSync(home.path('run'), home.path('.qualify', 'runs', session));
    const result = await home.run('resume', session, '--json');
    assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
    const verdict = readFileSync(home.path('.qualify', 'runs', session, 'verdict.json'), 'utf8');
    assert.equal(result.stdout.trimEnd(), verdict.trimEnd());
    assert.match(verdict, /"resumed"/);
    assert.equal((await home.run('verify', `.qualify/runs/${session}`)).exitCode, 0);
  });

  test('from another shell gives engines what they inherited before', async () => {
    const home = await killedRun();
    const inherited = () =>
      home
        .journal()
        .flatMap((entry) =>
          entry.kind === 'launch' ? [[entry.environment.PATH, entry.environment.LANG].join(' ')] : [],
        );
    const [before] = inherited();
    const environment = { PATH: `${process.env.PATH}:/another`, LANG: 'xx_YY' };
    const result = await home.start(['resume', 'run'], { environment }).finished;
    assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
    assert.deepEqual([...new Set(inherited())], [before]);
    assert.equal(inherited().length, 3);
    assert.deepEqual(
      home.verdict().reasons.filter(({ code }) => code === 'field-differs'),
      [],
    );
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('begins a session that was killed before its first line', async () => {
    const home = await killedRun();
    for (const left of ['', '{"seq":0,"kin']) {
      writeFileSync(home.path('run', 'journal.jsonl'), left);
      for (const name of readdirSync(home.path('run', 'evidence')).filter((one) => one !== 'machine.json'))
        rmSync(home.path('run', 'evidence', name), { recursive: true });
      rmSync(home.path('run', 'qualification.intoto.jsonl'), { force: true });
      const result = await home.run('resume', 'run');
      assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
      assert.equal((await home.run('verify', 'run')).exitCode, 0);
      assert.equal(home.journal().filter((entry) => entry.kind === 'resume').length, 0);
    }
    writeFileSync(home.path('run', 'journal.jsonl'), '');
    await refusal(home, 16, 'journal.jsonl is empty, and was not when the run was sealed');
  });

  test('says that a run which is no run is none, with exit code 64', async () => {
    const home = await killedRun();
    const nowhere = await home.run('resume', 'nowhere');
    assert.equal(nowhere.exitCode, 64);
    assert.match(nowhere.stderr, /there is no run folder .*nowhere/);
    rmSync(home.path('run', 'plan.json'));
    await refusal(home, 64, 'ERR_QUALIFY_NO_RUN', 'has no plan.json');
  });

  test('says of a complete run what its verdict is, with exit code 64', async () => {
    const home = await killedRun();
    await home.run('resume', 'run');
    const { result, exitCode } = home.verdict();
    await refusal(home, 64, 'ERR_QUALIFY_RUN_COMPLETE', `${result} \\(exit code ${exitCode}\\)`);
  });

  test('refuses what was begun on another machine or by another version, with exit code 14', async () => {
    const home = await killedRun();
    edit(home, 'journal.jsonl', /"machineId":"[0-9a-f]{64}"/, `"machineId":"${'a'.repeat(64)}"`);
    await refusal(home, 14, 'ERR_QUALIFY_OTHER_MACHINE', 'next: .*where it was begun');
    const other = await killedRun();
    edit(other, 'journal.jsonl', /"harness":\{"version":"[^"]*"/, '"harness":{"version":"0.0.1"');
    await refusal(other, 14, 'ERR_QUALIFY_OTHER_VERSION', 'begun by qualify 0\\.0\\.1');
  });

  test('refuses another binary, another file beside it, another model, with exit code 14', async () => {
    const home = await killedRun();
    writeFileSync(home.path('fake', 'library.so'), 'new');
    await refusal(home, 14, 'ERR_QUALIFY_BUILD_DIFFERS', 'its binary is another', 'or measure anew');
    rmSync(home.path('fake', 'library.so'));
    const serve = readFileSync(home.path('fake', 'serve'));
    appendFileSync(home.path('fake', 'serve'), '# changed\n');
    await refusal(home, 14, 'ERR_QUALIFY_BUILD_DIFFERS', 'its sources have changed since');
    writeFileSync(home.path('fake', 'serve'), serve);
    writeFileSync(home.path('model.gguf'), 'another model');
    await refusal(home, 14, 'ERR_QUALIFY_MODEL_DIFFERS');
    writeFileSync(home.path('model.gguf'), 'a model that nobody reads');
    const result = await home.run('resume', 'run');
    assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('refuses a journal or a plan that somebody changed, with exit code 16', async () => {
    const home = await killedRun();
    const plan = readFileSync(home.path('run', 'plan.json'), 'utf8');
    edit(home, 'plan.json', /"warmups": 1/, '"warmups": 2');
    await refusal(home, 16, 'is not the plan with which the journal begins');
    writeFileSync(home.path('run', 'plan.json'), plan);
    const journal = readFileSync(home.path('run', 'journal.jsonl'), 'utf8');
    edit(home, 'journal.jsonl', '"kind":"load"', '"kind":"loud"');
    await refusal(home, 16, 'ERR_QUALIFY_JOURNAL_INVALID');
    writeFileSync(home.path('run', 'journal.jsonl'), journal);
    edit(home, 'journal.jsonl', '"position":0', '"position":1');
    await refusal(home, 16, 'which is not next in the plan');
  });

  test('refuses a run that was sealed when it broke and does not hold now, with exit code 16', async (t) => {
    const home = new Home();
    t.after(() => home.remove());
    await home.run(
      'run',
      home.fakeMatrix({ head: { FAKE_FAULT: 'crash:4' } }, { looks: [1] }),
      '--out',
      'run',
    );
    edit(home, 'journal.jsonl', /"readyMs":[^,]*/, '"readyMs":0.0123');
    await refusal(home, 16, 'journal.jsonl has changed');
  });

  test('does not go on after a binary changed, with exit code 15', async (t) => {
    const home = new Home();
    t.after(() => home.remove());
    const matrix = home.fakeMatrix({}, { looks: [1] });
    const serve = home.path('fake', 'serve');
    const [shebang, ...rest] = readFileSync(serve, 'utf8').split('\n');
    writeFileSync(home.path('fake', 'library.so'), 'one');
    writeFileSync(serve, [shebang, `echo two >'${home.path('fake', 'library.so')}'`, ...rest].join('\n'));
    const run = await home.run('run', matrix, '--out', 'run');
    assert.doesNotMatch(run.stderr, /Go on from there/);
    await refusal(home, 15, 'ERR_QUALIFY_NOT_RESUMABLE', 'changed during the session');
  });

  test('names who measures when the machine is taken, and keeps the run while it waits, with exit code 15', async (t) => {
    const home = await killedRun();
    const address = `\0test ${home.folder}`;
    const lock = await takeMachineLock({ what: 'another session', wait: false, address });
    t.after(() => lock.release());
    await refusal(home, 15, 'ERR_QUALIFY_LOCKED', 'another session');

    const { child, stderr, finished } = home.start(['resume', 'run', '--wait']);
    t.after(() => child.kill('SIGKILL'));
    const waits = (): boolean => /waiting for pid \d+ .*another session/s.test(stderr());
    await eventually(() => waits() || child.exitCode !== null, 'it waits');
    await refusal(home, 15, 'ERR_QUALIFY_LOCKED', 'The run folder .* is taken by .*qualify resume');
    child.kill('SIGINT');
    assert.equal((await finished).exitCode, 12, stderr());
    await refusal(home, 15, 'ERR_QUALIFY_LOCKED', 'another session');
  });

  test('ends what a killed session left running before it launches anything', async (t) => {
    const home = await killedRun();
    const { session } = JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8'));
    const left = spawn('/bin/sleep', ['1000'], {
      stdio: 'ignore',
      env: { QUALIFY_LAUNCH: `${session}.left` },
    });
    const other = spawn('/bin/sleep', ['1000'], { stdio: 'ignore', env: { QUALIFY_LAUNCH: 'other.left' } });
    t.after(() => other.kill('SIGKILL'));
    t.after(() => left.kill('SIGKILL'));
    const ended = once(left, 'exit');
    const result = await home.run('resume', 'run');
    assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
    assert.equal(left.signalCode, 'SIGKILL');
    await ended;
    assert.equal(other.exitCode ?? other.signalCode, null, 'a launch of another session is not ours');
  });

  test('refuses a working tree that has changed, before it builds anything', async () => {
    const plan = makePlan();
    const entries = makeJournal(plan, { rounds: 0 });
    const revisions = new Map([
      ['worktree', { kind: 'tree', requested: 'worktree', folder: harnessFolder } as const],
    ]);
    const progress = {
      update: (text: string) => assert.fail(`built: ${text}`),
      note: () => {},
    };
    const context = { plan, progress, signal: new AbortController().signal };
    await assert.rejects(sameBuilds(context, entries, revisions), {
      code: 'ERR_QUALIFY_BUILD_DIFFERS',
      exitCode: 14,
      message: /worktree: its sources have changed since/,
    });
  });
});
