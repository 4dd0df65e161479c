import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { replaceFile, replaceFileSync } from '../../../src/machine/replace-file.js';
import { writeNew, writeNewBy } from '../../../src/machine/write-new.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

test('a new file is written whole, and nothing is written over', async (t) => {
  const folder = await scratchFolder(t);
  const path = join(folder, 'new');
  await writeNew(path, 'text');
  assert.equal(readFileSync(path, 'utf8'), 'text');
  assert.equal((await refusal(writeNew(path, 'other'))).code, 'ERR_QUALIFY_EXISTS');
  await symlink('nowhere', join(folder, 'dangling'));
  assert.equal((await refusal(writeNew(join(folder, 'dangling'), 'x'))).code, 'ERR_QUALIFY_EXISTS');
  assert.equal((await refusal(writeNew(join(path, 'below'), 'x'))).code, 'ERR_QUALIFY_UNWRITABLE');
  assert.equal(readFileSync(path, 'utf8'), 'text');
  assert.deepEqual(readdirSync(folder).sort(), ['dangling', 'new']);
});

test('a file may have the longest name that a file system takes', async (t) => {
  const folder = await scratchFolder(t);
  for (const name of ['n'.repeat(255), `${'ä'.repeat(127)}n`]) {
    await writeNew(join(folder, name), 'text');
    await replaceFile(join(folder, name), 'other');
    assert.equal(readFileSync(join(folder, name), 'utf8'), 'other');
  }
  assert.equal(readdirSync(folder).length, 2);
});

test('what comes to be while a file is made stays, and what fails leaves nothing', async (t) => {
  const folder = await scratchFolder(t);
  const path = join(folder, 'new');
  const work = writeNewBy(path, async (write) => {
    await write(Buffer.from('ours'));
    await writeFile(path, 'theirs');
  });
  assert.equal((await refusal(work)).code, 'ERR_QUALIFY_EXISTS');
  assert.equal(readFileSync(path, 'utf8'), 'theirs');
  const failing = writeNewBy(join(folder, 'other'), async (write) => {
    await write(Buffer.from('half'));
    throw new Error('it fails');
  });
  await assert.rejects(failing, /it fails/);
  assert.deepEqual(readdirSync(folder), ['new']);
});

test('half a file does not outlive kill -9', async (t) => {
  const folder = await scratchFolder(t);
  const module = new URL('../../../src/machine/write-new.js', import.meta.url).href;
  const script = `import { writeNewBy } from ${JSON.stringify(module)};
    await writeNewBy(${JSON.stringify(join(folder, 'new'))}, async (write) => {
      await write(Buffer.from('half'));
      console.log('half');
      await new Promise(() => setInterval(() => {}, 1000));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  assert.match(readdirSync(folder).join(), /^\.new\.partial-[0-9a-f]{12}$/);
  child.kill('SIGKILL');
  await once(child, 'close');
  await eventually(() => readdirSync(folder).length === 0, 'the guard has removed it');
});

/** Runs `call` of a module of `src` in a process that is killed in the moment in which a file is made: nothing is left in the folder. */
async function leavesNothing(t: TestContext, module: string, call: string): Promise<void> {
  const folder = await scratchFolder(t);
  const script = `import sync, { promises } from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    import fs from 'node:fs/promises';
    const { open } = promises;
    const { openSync, writeSync } = sync;
    const die = () => {
      writeSync(1, 'made\\n');
      process.kill(process.pid, 'SIGKILL');
    };
    fs.open = async (...args) => {
      await open(...args);
      die();
    };
    sync.openSync = (...args) => {
      openSync(...args);
      die();
    };
    syncBuiltinESMExports();
    const called = await import(${JSON.stringify(new URL(`../../../src/${module}`, import.meta.url).href)});
    await called.${call};`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = once(child.stdout, 'data');
  const [, signal] = await once(child, 'close');
  assert.deepEqual([String((await said)[0]), signal], ['made\n', 'SIGKILL'], 'it died where it was to die');
  await eventually(() => readdirSync(folder).length === 0, `what ${call} made is gone`);
}

test('nothing outlives a process that dies in the moment in which it makes the file', async (t) => {
  await leavesNothing(t, 'machine/write-new.js', "writeNew('new', 'text')");
  await leavesNothing(t, 'cli/write-answer.js', "writeAnswer('x.html', 'text')");
  await leavesNothing(t, 'machine/replace-file.js', "replaceFile('kept', 'text')");
  await leavesNothing(t, 'session/record.js', "writePlan('.', {})");
});

test('a file is replaced by a whole one with the mode that is asked for, and stays where that fails', async (t) => {
  const folder = await scratchFolder(t);
  const path = join(folder, 'file');
  await replaceFile(path, 'one');
  await replaceFile(path, 'two', 0o600);
  assert.deepEqual([readFileSync(path, 'utf8'), statSync(path).mode & 0o777], ['two', 0o600]);
  await mkdir(join(folder, 'taken', 'below'), { recursive: true });
  await assert.rejects(replaceFile(join(folder, 'taken'), 'three'), { code: 'EISDIR' });
  await assert.rejects(replaceFile(join(folder, 'none', 'file'), 'three'), { code: 'ENOENT' });
  replaceFileSync(path, 'four');
  assert.equal(readFileSync(path, 'utf8'), 'four');
  assert.throws(() => replaceFileSync(join(folder, 'taken'), 'five'), { code: 'EISDIR' });
  assert.throws(() => replaceFileSync(join(folder, 'none', 'file'), 'five'), { code: 'ENOENT' });
  assert.deepEqual(readdirSync(folder).sort(), ['file', 'taken']);
});
