/** A session on a disk that fills up says so, ends its engine, and leaves a folder that can be read as far as it got. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { parseJournal } from '../../src/journal/read.js';
import { nothingRunsOf } from '../support/eventually.js';
import { Repository } from '../support/repository.js';
import { Home } from '../support/run-cli.js';

const preload = new URL('../fixtures/full-disk.js', import.meta.url).href;
const places = {
  'the journal': 'journal.jsonl$;8',
  evidence: 'responses/;3',
  "an engine's log": 'launches/.*.log$;1',
};

for (const [name, place] of Object.entries(places)) {
  test(`a disk that is full for ${name} ends the session with exit code 15`, async (t) => {
    const home = new Home();
    t.after(() => home.remove());
    const environment = { NODE_OPTIONS: `--import=${preload}`, FULL_DISK: place };
    const args = ['run', home.fakeMatrix({}, { looks: [1] }), '--out', 'run'];
    const result = await home.start(args, { environment }).finished;
    assert.equal(result.exitCode, 15, result.stderr);
    assert.match(result.stderr, /The disk is full[\s\S]*at: .*run[\s\S]*next: Free some space/);
    assert.equal(result.stderr.match(/code: /g)?.length, 1, result.stderr);
    assert.doesNotMatch(result.stderr, /\n\s+at .*\.js:\d+/);
    await nothingRunsOf(home);
    const text = readFileSync(home.path('run', 'journal.jsonl'), 'utf8');
    assert.ok(parseJournal(text, 'journal.jsonl').length >= 3);
  });
}

/** What a run gets after its journal, in this order. */
const CONCLUSIONS = [
  'verdict.json',
  'report.md',
  'evidence.sha256',
  'key.pub.pem',
  'qualification.sigstore.json',
  'qualification.intoto.jsonl.sig',
  'qualification.intoto.jsonl',
];
/** With these a run has all but its seal: it may be finished, and the seal taken away. */
const HAS_VERDICT = 1;

describe('a disk that is full when a session concludes', () => {
  for (const [at, file] of CONCLUSIONS.entries())
    test(`leaves what comes before ${file}, whole, and nothing else`, async (t) => {
      const home = new Home();
      t.after(() => home.remove());
      const place = `/(\\.?)${file.replaceAll('.', '\\.')}(\\.partial-[0-9a-f]+)?$;1`;
      const environment = { NODE_OPTIONS: `--import=${preload}`, FULL_DISK: place };
      const args = ['simulate', '--rounds', '1', '--cell', '401/512', '--out', 'run'];
      const result = await home.start(args, { environment }).finished;
      assert.equal(result.exitCode, 15, result.stderr);
      assert.match(
        result.stderr,
        new RegExp(`The disk is full: \\S+/${file} [\\s\\S]*code: ERR_QUALIFY_DISK_FULL`),
      );
      const there = readdirSync(home.path('run'));
      assert.deepEqual(
        there.sort(),
        ['evidence', 'journal.jsonl', 'plan.json', ...CONCLUSIONS.slice(0, at)].sort(),
      );

      for (const args of [
        ['verify', 'run'],
        ['report', 'run'],
        ['pack', 'run', '--out', 'run.tar'],
      ]) {
        const { exitCode, stderr } = await home.run(...args);
        assert.equal(exitCode, 16, stderr);
        assert.match(stderr, at < HAS_VERDICT ? /ERR_QUALIFY_RUN_UNFINISHED/ : /ERR_QUALIFY_INVALID/);
        assert.match(stderr, /next: .*qualify resume run/);
      }
      const resumed = await home.run('resume', 'run');
      assert.ok([11, 14].includes(resumed.exitCode ?? -1), resumed.stderr);
      assert.equal((await home.run('verify', 'run')).exitCode, 0);
    });
});

test('a cache that is full is named, and not the run folder', async (t) => {
  const home = new Home();
  t.after(() => home.remove());
  const environment = { NODE_OPTIONS: `--import=${preload}`, FULL_DISK: 'cache/.*/models/;1' };
  const args = ['simulate', '--rounds', '1', '--cell', '401/512', '--out', 'run'];
  const result = await home.start(args, { environment }).finished;
  assert.equal(result.exitCode, 15, result.stderr);
  assert.match(result.stderr, /The disk is full: \S+\/cache\/\S+\/models\/\w+\.json cannot be written/);
});

test('a compiler that finds the disk full is told as that, under one code', async (t) => {
  const home = new Home();
  t.after(() => home.remove());
  const repository = new Repository(home.path('repository'));
  const says = 'message(FATAL_ERROR "a.o: No space left on device")';
  repository.write(
    'native/CMakeLists.txt',
    `cmake_minimum_required(VERSION 3.20)\nproject(full NONE)\n${says}\n`,
  );
  repository.commit('a build that fills the disk');
  const args = ['compare', 'HEAD', 'worktree', '--matrix', home.fakeMatrix(), '--out', home.path('run')];
  const result = await home.start(args, { cwd: repository.folder }).finished;
  assert.equal(result.exitCode, 15, result.stderr);
  assert.match(result.stderr, /The disk is full/);
  assert.deepEqual(result.stderr.match(/code: .*/g), ['code: ERR_QUALIFY_DISK_FULL']);
});
