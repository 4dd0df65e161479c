/** `qualify report --format html` as a user runs it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { cliScript } from '../../src/harness.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';

async function sealedRun(context: TestContext): Promise<{ folder: string; keyId: string }> {
  const folder = await scratchFolder(context);
  const key = await generateKey('signer', join(folder, 'signer'));
  await writeRun(join(folder, 'run'), { rounds: 6 });
  await seal(join(folder, 'run'), key);
  return { folder, keyId: key.publicKey.keyId };
}

function report(folder: string, ...argv: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cliScript, 'report', ...argv], {
    cwd: folder,
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: join(folder, 'config') },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

test('prints or writes the same page, of a copy too, with the index that was verified', async (context) => {
  const { folder, keyId } = await sealedRun(context);
  const printed = report(folder, 'run', '--format', 'html');
  assert.equal(printed.code, 0, printed.stderr);
  assert.match(printed.stdout, /^<!doctype html>/);
  assert.ok(printed.stdout.includes(sha256(readFileSync(join(folder, 'run', 'evidence.sha256')))));
  assert.ok(printed.stdout.includes(keyId));
  cpSync(join(folder, 'run'), join(folder, 'copy'), { recursive: true });
  writeFileSync(join(folder, 'page.html'), 'an older page');
  const written = report(folder, 'copy', '--format', 'html', '--out', 'page.html');
  assert.deepEqual([written.code, written.stdout], [0, ''], written.stderr);
  assert.equal(readFileSync(join(folder, 'page.html'), 'utf8'), printed.stdout);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes('partial')),
    [],
  );
});

test('writes no page of a run that does not hold', async (context) => {
  const { folder } = await sealedRun(context);
  writeFileSync(join(folder, 'run', 'report.md'), 'all is well');
  const { code, stdout } = report(folder, 'run', '--format', 'html', '--out', 'page.html');
  assert.deepEqual([code, stdout, existsSync(join(folder, 'page.html'))], [16, '', false]);
});

test('refuses to write into the run folder, over a link, and where nothing can be written', async (context) => {
  const { folder } = await sealedRun(context);
  const before = readdirSync(join(folder, 'run'));
  symlinkSync(join(folder, 'run'), join(folder, 'way'));
  for (const out of ['run/report.html', 'way/report.html', 'run/../run/evidence/report.html']) {
    const { code, stderr } = report(folder, 'run', '--format', 'html', '--out', out);
    assert.equal(code, 64, stderr);
    assert.match(stderr, /inside of the run folder/);
  }
  assert.deepEqual(readdirSync(join(folder, 'run')), before);
  symlinkSync('/dev/null', join(folder, 'link.html'));
  const link = report(folder, 'run', '--format', 'csv', '--out', 'link.html');
  assert.equal(link.code, 64);
  assert.match(link.stderr, /no regular file/);
  const nowhere = report(folder, 'run', '--format', 'csv', '--out', 'nowhere/report.csv');
  assert.equal(nowhere.code, 15);
  assert.match(nowhere.stderr, /nowhere\/report\.csv cannot be written/);
});
