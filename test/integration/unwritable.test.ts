/** Places that cannot be written to, and a run folder that another session writes: a code, a remedy and exit 15, no stack trace. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { harnessFolder } from '../../src/harness.js';
import { takeFolderLock } from '../../src/machine/lock.js';
import { eventually } from '../support/eventually.js';
import { type CliResult, newHome } from '../support/run-cli.js';

const cli = fileURLToPath(new URL('../../../bin/qualify.js', import.meta.url));

function refused(result: Pick<CliResult, 'exitCode' | 'stderr'>, code: string): void {
  assert.equal(result.exitCode, 15, result.stderr);
  assert.match(result.stderr, new RegExp(`next: .*\\n\\s*code: ${code}`));
  assert.doesNotMatch(result.stderr, /^\s+at .*\.js:\d+/m, 'a stack trace');
}

describe('a place that cannot be written to', () => {
  test('for keys is found before anything is measured', async (t) => {
    const home = newHome(t);
    const environment = { XDG_CONFIG_HOME: '/dev/null' };
    const matrix = home.fakeMatrix({}, { looks: [1] });
    refused(
      await home.start(['run', matrix, '--out', 'run'], { environment }).finished,
      'ERR_QUALIFY_KEY_FOLDER',
    );
    assert.ok(!existsSync(home.path('run')));
    refused(await home.start(['keys', 'generate'], { environment }).finished, 'ERR_QUALIFY_KEY_FOLDER');
    refused(await home.start(['keys', 'list'], { environment }).finished, 'ERR_QUALIFY_KEY_FOLDER');
  });

  test('for what is temporary ends the session with a verdict that verifies', async (t) => {
    const home = newHome(t);
    const environment = { TMPDIR: '/dev/null' };
    const matrix = home.fakeMatrix({}, { looks: [1] });
    refused(
      await home.start(['run', matrix, '--out', 'run'], { environment }).finished,
      'ERR_QUALIFY_TEMPORARY',
    );
    assert.equal(home.verdict().result, 'infrastructure');
    assert.equal(home.verdict().reasons[0]?.code, 'temporary');
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });

  test('for the answer leaves the sealed run as it is', async (t) => {
    const home = newHome(t);
    const matrix = home.fakeMatrix({}, { looks: [1] });
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [cli, 'run', matrix, '--out', 'run'], {
      cwd: home.folder,
      env: home.environment,
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    let stderr = '';
    child.stderr?.on('data', (data: Buffer) => (stderr += data));
    const [exitCode] = await once(child, 'close');
    refused({ exitCode, stderr }, 'ERR_QUALIFY_OUTPUT');
    assert.equal((await home.run('verify', 'run')).exitCode, 0);
  });
});

describe('what the system refuses', () => {
  test('in the middle of an archive is told with its file', async (t) => {
    const home = newHome(t);
    const archive = join(harnessFolder, 'manifests', 'smoke-pass.tar');
    for (const command of ['unpack', 'verify']) {
      const script = `ulimit -f 10; exec '${process.execPath}' '${cli}' ${command} '${archive}'`;
      const child = spawn('/bin/sh', ['-c', script], { cwd: home.folder, env: home.environment });
      let stderr = '';
      child.stderr.on('data', (data: Buffer) => (stderr += data));
      const [exitCode] = await once(child, 'close');
      refused({ exitCode, stderr }, 'ERR_QUALIFY_SYSTEM');
      assert.match(
        stderr,
        /qualify: \/\S+: file too large \(EFBIG at write\)\.\n {2}at: {3}\/\S+\n {2}next: .*ulimit -f/,
      );
    }
    assert.deepEqual(readdirSync(home.folder), ['tmp']);
    assert.deepEqual(readdirSync(home.path('tmp')), []);
  });

  test('of an archive that cannot be read is told as that', async (t) => {
    const { exitCode, stderr } = await newHome(t).run('unpack', '/proc/self/mem');
    assert.equal(exitCode, 64, stderr);
    assert.match(
      stderr,
      /qualify: \/proc\/self\/mem cannot be read \(EIO\)\n.*\n.*\n {2}code: ERR_QUALIFY_ARCHIVE/,
    );
  });
});

describe('a run folder that a session writes', () => {
  test('is left alone by `resume`, also where QUALIFY_LOCK names another lock', {
    timeout: 120_000,
  }, async (t) => {
    const home = newHome(t);
    const hangs = { FAKE_FAULT: 'hang:4' };
    const protocol = { looks: [1], requestTimeoutSeconds: 600 };
    const first = home.start([
      'run',
      home.fakeMatrix({ base: hangs, head: hangs }, protocol),
      '--out',
      'run',
    ]);
    t.after(() => first.child.kill('SIGKILL'));
    const isBegun = (): boolean => existsSync(home.path('run', 'journal.jsonl'));
    await eventually(() => isBegun() || first.child.exitCode !== null, 'the session has begun');
    symlinkSync(home.path('run'), home.path('link'));
    const environment = { QUALIFY_LOCK: `another ${home.folder}` };
    for (const name of ['run', 'link']) {
      const second = await home.start(['resume', name], { environment }).finished;
      refused(second, 'ERR_QUALIFY_LOCKED');
      assert.match(second.stderr, /The run folder \S+ is taken by pid/);
    }
    first.child.kill('SIGINT');
    await first.finished;
    assert.equal(home.journal().filter(({ kind }) => kind === 'resume').length, 0);
  });

  test('is left alone by `run` while its lock is held', async (t) => {
    const home = newHome(t);
    const lock = await takeFolderLock(home.path('tmp'), { what: 'the other', wait: false });
    t.after(() => lock.release());
    const matrix = home.fakeMatrix({}, { looks: [1] });
    const result = await home.run('run', matrix, '--out', home.path('tmp'));
    refused(result, 'ERR_QUALIFY_LOCKED');
    assert.ok(!existsSync(home.path('tmp', 'plan.json')));
  });
});
