/** What can happen to a session, each with its word, and `qualify resume` afterwards. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { lostLaunches, standingEntries } from '../../src/analysis/lost-launches.js';
import { sha256 } from '../../src/digest.js';
import { partialPrefix } from '../../src/machine/write-new.js';
import { nothingRunsOf } from '../support/eventually.js';
import { type CliResult, type Home, newHome } from '../support/run-cli.js';

const fixture = (name: string): string => new URL(`../fixtures/${name}.js`, import.meta.url).href;

/** A command that sends itself a signal when it has written so many entries of a kind. */
async function endedAt(
  home: Home,
  args: string[],
  signal: 'SIGINT' | 'SIGKILL',
  kind: string,
  times = 1,
): Promise<CliResult> {
  const environment = {
    NODE_OPTIONS: `--import=${fixture('signal-at-entry')}`,
    SIGNAL_AT: `${signal} ${kind} ${times}`,
  };
  const result = await home.start(args, { environment }).finished;
  if (signal === 'SIGKILL') assert.equal(result.signal, signal, result.stderr);
  return result;
}

/**
 * One round decides nothing: 11, and none at all is not measured: 12. Where others take the machine meanwhile its clocks may contradict
 * each other: 14, and no word of losses.
 */
function assertExit(home: Home, result: CliResult, exitCode: number): void {
  const codes = home.verdict().reasons.map(({ code }) => code);
  if ([11, 12].includes(exitCode) && result.exitCode === 14)
    assert.ok(!codes.includes('launches-lost'), codes.join(' '));
  else assert.equal(result.exitCode, exitCode, `${result.stderr}${codes.join(' ')}`);
}

/** Resumes to an end that verifies, with nothing left; answers what `resume` said. */
async function resumed(home: Home, exitCode = 11): Promise<CliResult> {
  const result = await home.run('resume', 'run');
  assertExit(home, result, exitCode);
  const verified = await home.run('verify', 'run');
  assert.equal(verified.exitCode, 0, verified.stderr);
  const end = home.journal().at(-1);
  assert.ok(end?.kind === 'end');
  await nothingRunsOf(home);
  assert.deepEqual(readdirSync(home.path('tmp')), []);
  return result;
}

const lost = (home: Home): [string, string | null][] =>
  lostLaunches(home.journal()).map(({ launch, code }) => [launch, code]);

describe('a session that was interrupted', () => {
  test('says how to go on, and goes on', async (t) => {
    const home = newHome(t);
    const args = ['run', home.fakeMatrix({}, { looks: [2] }), '--out', 'run'];
    const interrupted = await endedAt(home, args, 'SIGINT', 'sample', 6);
    assertExit(home, interrupted, 12);
    assert.match(interrupted.stderr, /qualify resume run/);
    const before = readFileSync(home.path('run', 'journal.jsonl'), 'utf8');
    const { stdout } = await resumed(home);
    assert.ok(readFileSync(home.path('run', 'journal.jsonl'), 'utf8').startsWith(before));
    const [[launch, code] = ['', '']] = lost(home);
    assert.equal(code, 'ERR_QUALIFY_INTERRUPTED');
    assert.match(stdout.replaceAll(/\s+/g, ' '), new RegExp(`resumed once; .*: ${launch}`));
    const places = standingEntries(home.journal()).flatMap((entry) =>
      entry.kind === 'launch' ? [entry.arm] : [],
    );
    const plan = JSON.parse(readFileSync(home.path('run', 'plan.json'), 'utf8'));
    assert.deepEqual(
      places,
      plan.rounds.flatMap((round: { order: string[] }) => round.order),
    );
  });

  test('twice in few launches has lost too many: contaminated, exit code 14', async (t) => {
    const home = newHome(t);
    // Of 3 ms, an answer and the next part by more than clocks may (15 ms) wherever the engine waits for a CPU; a quarter of these is more.
    const long = { FAKE_US_PER_TOKEN: '4000' };
    const matrix = home.fakeMatrix({ base: long, head: long }, { looks: [1], samples: 5 });
    const args = ['run', matrix, '--out', 'run'];
    await endedAt(home, args, 'SIGKILL', 'ready');
    const second = await endedAt(home, ['resume', 'run'], 'SIGINT', 'ready');
    assert.equal(second.exitCode, 12, second.stderr);
    await resumed(home, 14);
    assert.deepEqual(
      home.verdict().reasons.map(({ code }) => code),
      ['launches-lost'],
    );
  });

  test('while it was sealed is only concluded', async (t) => {
    const home = newHome(t);
    await home.run('run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run');
    const journal = readFileSync(home.path('run', 'journal.jsonl'), 'utf8');
    const manifest = 'qualification.intoto.jsonl';
    // As it is called while it is written, and as earlier versions called it.
    const partials = [`${partialPrefix(manifest)}0123456789ab`, `${manifest}.partial`];
    for (const left of [
      ['verdict.json'],
      ...partials.map((partial) => ['verdict.json', 'evidence.sha256', partial]),
      [],
    ]) {
      rmSync(home.path('run', manifest));
      for (const name of ['verdict.json', 'report.md', 'evidence.sha256', 'key.pub.pem'])
        if (!left.includes(name)) rmSync(home.path('run', name));
      for (const partial of partials)
        if (left.includes(partial)) writeFileSync(home.path('run', partial), '{"payl');
      if (left.includes('verdict.json')) writeFileSync(home.path('run', 'verdict.json'), '{"half');
      await resumed(home);
      assert.equal(readFileSync(home.path('run', 'journal.jsonl'), 'utf8'), journal);
    }
  });

  test('in the middle of a line loses the line, and says which bytes', async (t) => {
    const home = newHome(t);
    const args = ['run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run'];
    await endedAt(home, args, 'SIGKILL', 'stop');
    const half = '{"seq":99,"atNs":"12';
    appendFileSync(home.path('run', 'journal.jsonl'), half);
    await resumed(home);
    const resume = home.journal().find((entry) => entry.kind === 'resume');
    assert.ok(resume?.kind === 'resume');
    assert.deepEqual([resume.droppedBytes, resume.droppedSha256], [half.length, sha256(half)]);
  });
});

describe('a disk that was full', () => {
  const places = {
    'the journal': 'journal.jsonl$;14',
    evidence: 'responses/;3',
    "an engine's log": 'launches/.*.log$;1',
    'the verdict': '\\.verdict\\.json\\.partial-;1',
  };
  for (const [name, place] of Object.entries(places)) {
    test(`for ${name} is told as that, and the session goes on once there is space`, async (t) => {
      const home = newHome(t);
      const environment = { NODE_OPTIONS: `--import=${fixture('full-disk')}`, FULL_DISK: place };
      const args = ['run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run'];
      const result = await home.start(args, { environment }).finished;
      assert.equal(result.exitCode, 15, result.stderr);
      assert.match(result.stderr, /code: ERR_QUALIFY_DISK_FULL/);
      assert.match(result.stderr, /qualify resume run/);
      await resumed(home);
      assert.ok(lost(home).length <= 1);
    });
  }
});

describe('an engine that was killed', () => {
  test('ends the session with exit code 15; resumed, its launch is repeated', async (t) => {
    const home = newHome(t);
    const once = { FAKE_FAULT: 'killed-once:4', FAKE_STORE: home.path('store') };
    mkdirSync(once.FAKE_STORE);
    const died = await home.run(
      ...['run', home.fakeMatrix({ base: once, head: once }, { looks: [1] }), '--out', 'run'],
    );
    assert.equal(died.exitCode, 15, died.stderr);
    const launch = home.journal().find((entry) => entry.kind === 'launch');
    assert.ok(launch?.kind === 'launch');
    assert.ok(home.verdict().reasons.some(({ code }) => code === 'engine-died'));
    await resumed(home);
    assert.deepEqual(lost(home), [[launch.launch, 'ERR_QUALIFY_ENGINE_DIED']]);
  });

  test('twice in one launch is not started a third time', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ head: { FAKE_FAULT: 'crash:3' } }, { looks: [1] });
    const first = await home.run('run', matrix, '--out', 'run');
    assert.equal(first.exitCode, 15, first.stderr);
    assert.match(first.stderr, /Go on from there: qualify resume run/);
    const second = await home.run('resume', 'run');
    assert.equal(second.exitCode, 15, second.stderr);
    assert.equal(home.verdict().result, 'infrastructure');
    assert.doesNotMatch(second.stderr, /Go on from there/);
    const before = readFileSync(home.path('run', 'qualification.intoto.jsonl'), 'utf8');
    const third = await home.run('resume', 'run');
    assert.equal(third.exitCode, 15, third.stderr);
    assert.match(third.stderr, /failed twice, as r00-\d-head \(ERR_QUALIFY_ENGINE_DIED\) and r00-\d-head\.2/);
    assert.match(third.stderr, /ERR_QUALIFY_NOT_RESUMABLE/);
    assert.equal(readFileSync(home.path('run', 'qualification.intoto.jsonl'), 'utf8'), before);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('twice, and the harness with it, is concluded', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({ head: { FAKE_FAULT: 'die-at-start' } }, { looks: [1] });
    await home.run('run', matrix, '--out', 'run');
    await home.run('resume', 'run');
    const path = home.path('run', 'journal.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -2);
    writeFileSync(path, `${lines.join('\n')}\n`);
    for (const name of ['qualification.intoto.jsonl', 'verdict.json']) rmSync(home.path('run', name));
    await resumed(home, 15);
    assert.equal(home.journal().filter((entry) => entry.kind === 'resume').length, 1);
  });
});

describe('a clock that was set back', () => {
  const environment = { NODE_OPTIONS: `--import=${fixture('set-clock')}`, SET_CLOCK: '-86400000' };
  const warning = (home: Home): string[] =>
    home.verdict().warnings.flatMap(({ code }) => (code === 'clock-set-back' ? [code] : []));

  test('while it measured is a warning, and the run verifies', async (t) => {
    const home = newHome(t);
    const args = ['run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run'];
    const from = home.path('run', 'evidence', 'launches');
    const result = await home.start(args, { environment: { ...environment, SET_CLOCK_FROM: from } }).finished;
    assertExit(home, result, 11);
    assert.deepEqual(warning(home), ['clock-set-back']);
    assert.match(result.stdout, /set back/);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
    for (const entry of home.journal()) if (entry.kind === 'ready') assert.ok(entry.readyMs >= 0);
  });

  test('before it was resumed is a warning, and the run verifies', async (t) => {
    const home = newHome(t);
    const args = ['run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run'];
    await endedAt(home, args, 'SIGKILL', 'stop');
    const result = await home.start(['resume', 'run'], { environment }).finished;
    assertExit(home, result, 11);
    assert.deepEqual(warning(home), ['clock-set-back']);
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });
});
