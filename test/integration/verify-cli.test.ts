/** `qualify verify` and `qualify keys` as a user runs them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cliScript, harnessFolder } from '../../src/harness.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { writeRun } from '../fixtures/run-folder.js';
import { scratchFolder } from '../support/folder.js';

/** Runs the CLI with a config folder of its own. */
function qualify(config: string, ...argv: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cliScript, ...argv], {
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: config },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

async function sealedRun(
  context: TestContext,
): Promise<{ folder: string; run: string; config: string; keyId: string }> {
  const folder = await scratchFolder(context);
  const run = join(folder, 'run');
  const key = await generateKey('signer', join(folder, 'signer'));
  await writeRun(run);
  await seal(run, key);
  return { folder, run, config: join(folder, 'config'), keyId: key.publicKey.keyId };
}

test('says who signed, and exits 0 whatever the verdict of the run', async (context) => {
  const { folder, run, config, keyId } = await sealedRun(context);
  const unknown = qualify(config, 'verify', run);
  assert.equal(unknown.code, 0, unknown.stderr);
  assert.ok(unknown.stdout.includes(`${keyId} (UNKNOWN SIGNER: not in your trusted keys`));
  assert.match(unknown.stdout, /verdict +inconclusive \(exit code 11\)/);
  const asked = qualify(config, 'verify', run, '--key', join(folder, 'signer', 'signer.pub'));
  assert.equal(asked.code, 0, asked.stderr);
  assert.ok(asked.stdout.includes(`${keyId} (the key you asked for)`));
});

test('another key than was asked for: the run may be good, so that nobody is sent for its folder', async (context) => {
  const { folder, run, config } = await sealedRun(context);
  const { path } = await generateKey('other', join(folder, 'other'));
  const { code, stderr } = qualify(config, 'verify', run, '--key', path.replace(/pem$/, 'pub'));
  assert.equal(code, 16);
  assert.match(stderr, /next: Nothing else of the run was looked at\. Give the key of its signer/);
});

test('says first that a slowdown was planted', () => {
  const planted = join(harnessFolder, 'manifests', 'planted-fail.tar');
  const key = join(harnessFolder, 'manifests', 'golden.pub');
  const { stdout } = qualify('/nowhere', 'verify', planted, '--key', key);
  assert.match(stdout, /\n {2}PLANTED {4}arm head was slowed down by 40 % on purpose.*\n {2}verdict {4}fail/);
});

test('explains each check', async (context) => {
  const { run, config } = await sealedRun(context);
  const { stdout } = qualify(config, 'verify', run, '--explain');
  for (const name of ['signature', 'evidence', 'plan', 'exchanges', 'verdict', 'statement']) {
    assert.match(stdout, new RegExp(`^  ${name} +\\S`, 'm'));
  }
});

test('prints JSON for programs, also when a check fails', async (context) => {
  const { run, config, keyId } = await sealedRun(context);
  const good = qualify(config, 'verify', run, '--json');
  const answer = JSON.parse(good.stdout);
  assert.equal(answer.verified, true);
  assert.deepEqual(answer.signer, { keyId, trust: 'unknown', name: null });
  assert.equal(answer.statement.predicate.result, 'inconclusive');
  await writeFile(join(run, 'report.md'), 'all is well');
  const bad = qualify(config, 'verify', run, '--json');
  assert.equal(bad.code, 16);
  const failure = JSON.parse(bad.stdout);
  assert.equal(failure.verified, false);
  assert.equal(failure.error.file, 'report.md');
  assert.match(failure.error.message, /has changed/);
});

test('exits 16 and says which file and why when a byte has changed', async (context) => {
  const { run, config } = await sealedRun(context);
  const path = join(run, 'journal.jsonl');
  await writeFile(path, (await readFile(path, 'utf8')).replace('"cacheN":0', '"cacheN":1'));
  const { code, stdout, stderr } = qualify(config, 'verify', run);
  assert.equal(code, 16);
  assert.equal(stdout, '');
  assert.match(stderr, /journal\.jsonl has changed: its SHA-256 is [0-9a-f]{64}/);
});

test('exits 16 for the key of somebody else, and 64 for a run or a key that is not there', async (context) => {
  const { run, config } = await sealedRun(context);
  assert.equal(qualify(config, 'keys', 'generate', 'other').code, 0);
  const other = join(config, 'qualify', 'keys', 'other.pub');
  assert.equal(qualify(config, 'verify', run, '--key', other).code, 16);
  assert.equal(qualify(config, 'verify', run, '--key', `${other}x`).code, 64);
  assert.equal(qualify(config, 'verify', `${run}x`).code, 64);
  assert.equal(qualify(config, 'verify').code, 64);
});

test('makes and lists keys, and recognises their runs', async (context) => {
  const { folder, run, config, keyId } = await sealedRun(context);
  assert.match(qualify(config, 'keys', 'list').stdout, /^no keys in /);
  const made = JSON.parse(qualify(config, 'keys', 'generate', '--json').stdout);
  assert.equal((await stat(made.path)).mode & 0o777, 0o600);
  assert.equal(qualify(config, 'keys', 'generate').code, 64);
  await rename(join(folder, 'signer', 'signer.pub'), join(config, 'qualify', 'keys', 'alice.pub'));
  const { keys } = JSON.parse(qualify(config, 'keys', 'list', '--json').stdout);
  assert.deepEqual(
    keys.map((key: { name: string; keyId: string; own: boolean }) => [key.name, key.keyId, key.own]),
    [
      ['alice', keyId, false],
      ['default', made.keyId, true],
    ],
  );
  assert.match(qualify(config, 'verify', run).stdout, /\(your trusted key "alice"\)/);
});
