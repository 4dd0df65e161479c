/** What `qualify resume` says of a run folder that is not as a session leaves it: file and remedy, no stack trace, no waiting, no loss. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { takeFolderLock } from '../../src/machine/lock.js';
import { eventually } from '../support/eventually.js';
import { type CliResult, Home } from '../support/run-cli.js';

/** Far more than a refusal takes; one that waits is killed. */
const PATIENCE_MS = 60_000;
const MADE_LATER =
  /^(verdict\.json|report\.md|evidence\.sha256|key\.pub\.pem|qualification\.(intoto\.jsonl(\.sig)?|sigstore\.json))$/;

/** What there is in a folder, with the time of its last change. */
const contents = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => `${name} ${lstatSync(join(folder, name)).mtimeMs}`)
    .sort();

describe('qualify resume of a damaged run', () => {
  let home: Home;
  let copies = 0;
  before(async () => {
    home = new Home();
    const made = await home.run('simulate', '--rounds', '1', '--cell', '401/512', '--out', 'whole');
    assert.ok(readdirSync(home.path('whole')).includes('verdict.json'), made.stderr);
  });
  after(() => home.remove());

  /** A copy of the whole run, with or without its conclusions. */
  const copy = (concluded = true): string => {
    copies += 1;
    const name = `run-${copies}`;
    cpSync(home.path('whole'), home.path(name), { recursive: true, preserveTimestamps: true });
    if (!concluded)
      for (const file of readdirSync(home.path(name)).filter((one) => MADE_LATER.test(one)))
        rmSync(home.path(name, file));
    return name;
  };

  async function resume(name: string): Promise<CliResult> {
    const { child, finished } = home.start(['resume', name]);
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    return finished.finally(() => clearTimeout(timer));
  }

  async function refused(name: string, exitCode: number, says: RegExp): Promise<void> {
    const held = contents(home.path(name));
    const result = await resume(name);
    assert.equal(result.exitCode, exitCode, `${result.signal} ${result.stderr}`);
    assert.match(result.stderr, says);
    assert.match(result.stderr, /^ {2}next: .+\n {2}code: ERR_QUALIFY_/m);
    assert.doesNotMatch(result.stderr, /^\s+at .*\.js:\d+/m, 'a stack trace');
    assert.deepEqual(contents(home.path(name)), held);
  }

  test('a journal that lost launches of which there is evidence is not gone on with', async () => {
    for (const [concluded, says] of [
      [true, /journal\.jsonl has no end, and had one when the run was sealed/],
      [false, /journal\.jsonl has no launch that wrote evidence\/launches\/r00-1-/],
    ] as const) {
      const name = copy(concluded);
      const path = home.path(name, 'journal.jsonl');
      const [session] = readFileSync(path, 'utf8').split('\n');
      writeFileSync(path, `${session}\n`);
      await refused(name, 16, says);
    }
  });

  test('nothing is said of a journal that a session still writes but that it does, with exit code 15', async (t) => {
    const name = copy(false);
    const path = home.path(name, 'journal.jsonl');
    const whole = readFileSync(path, 'utf8');
    // As it is read when the session writes evidence of a launch in the meantime.
    writeFileSync(path, `${whole.split('\n')[0]}\n`);
    const lock = await takeFolderLock(home.path(name), { what: 'the session', wait: false });
    t.after(() => lock.release());
    await refused(
      name,
      15,
      /The run folder \S+ is taken by pid \d+ .*the session.*code: ERR_QUALIFY_LOCKED/s,
    );

    const { child, stderr, finished } = home.start(['resume', name, '--wait']);
    t.after(() => child.kill('SIGKILL'));
    const waits = (): boolean => /waiting for pid \d+ .*the session/s.test(stderr());
    await eventually(() => waits() || child.exitCode !== null, 'it waits');
    assert.ok(waits(), stderr());
    writeFileSync(path, whole);
    await lock.release();
    const { exitCode } = await finished;
    assert.ok([11, 14].includes(exitCode ?? -1), stderr());
    assert.equal((await home.run('verify', name)).exitCode, 0);
  });

  const pipe = (path: string) => execFileSync('mkfifo', [path]);
  const inPlaceOf: Record<string, (path: string) => void> = {
    'a pipe': pipe,
    'a device that never ends': (path) => symlinkSync('/dev/zero', path),
    'a folder': (path) => mkdirSync(path),
    'more than is read': (path) => {
      writeFileSync(path, '');
      truncateSync(path, 600 * 1024 * 1024);
    },
  };
  for (const [what, put] of Object.entries(inPlaceOf))
    test(`names the plan or the journal in whose place there is ${what}`, async () => {
      for (const file of ['plan.json', 'journal.jsonl']) {
        const name = copy(false);
        rmSync(home.path(name, file));
        put(home.path(name, file));
        await refused(name, 16, new RegExp(`qualify: ${file} `));
      }
    });

  test('names the verdict of a complete run that is empty, no verdict, or gone', async () => {
    for (const text of ['', '{}', null]) {
      const name = copy();
      if (text === null) rmSync(home.path(name, 'verdict.json'));
      else writeFileSync(home.path(name, 'verdict.json'), text);
      await refused(name, 16, /qualify: verdict\.json /);
    }
  });

  test('says of a name that no file can have that there is no run', async () => {
    const result = await resume('a'.repeat(300));
    assert.equal(result.exitCode, 64, result.stderr);
    assert.match(result.stderr, /there is no run folder .*code: ERR_QUALIFY_NO_RUN/s);
  });

  test('does not wait for a description of the machine that never comes', async () => {
    const name = copy(false);
    rmSync(home.path(name, 'evidence', 'machine.json'));
    pipe(home.path(name, 'evidence', 'machine.json'));
    await refused(name, 16, /qualify: evidence\/machine\.json is not a plain file/);
  });

  test('never begins anew where there is evidence of a journal that is lost', async () => {
    for (const left of ['', '{"seq":0,"kin', null]) {
      const name = copy(false);
      if (left === null) rmSync(home.path(name, 'journal.jsonl'));
      else writeFileSync(home.path(name, 'journal.jsonl'), left);
      await refused(name, 16, /qualify: journal\.jsonl .*\d+ files.*\n.*\n {2}next: .*journal/);
    }
  });

  test('begins anew where nothing was observed', async () => {
    const name = copy(false);
    writeFileSync(home.path(name, 'journal.jsonl'), '{"seq":0,"kin');
    for (const folder of ['builds', 'launches', 'requests', 'responses'])
      rmSync(home.path(name, 'evidence', folder), { recursive: true });
    const result = await resume(name);
    assert.ok([11, 14].includes(result.exitCode ?? -1), result.stderr);
    assert.equal((await home.run('verify', name)).exitCode, 0);
  });
});
