/** `qualify pack` and `qualify unpack` as a user runs them, and kills them. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../src/digest.js';
import { generateKey } from '../../src/manifest/key-store.js';
import { seal } from '../../src/manifest/seal.js';
import { writeRun } from '../fixtures/run-folder.js';
import { eventually } from '../support/eventually.js';
import { Home } from '../support/run-cli.js';

const STOP_AT_FILE = new URL('../fixtures/stop-at-file.js', import.meta.url).href;

async function sealedRun(t: TestContext): Promise<Home> {
  const home = new Home();
  t.after(() => home.remove());
  await writeRun(home.path('run'), { rounds: 6 });
  await seal(home.path('run'), await generateKey('signer', home.path('keys')));
  return home;
}

test('packs, verifies and reports from the archive, and unpacks', async (t) => {
  const home = await sealedRun(t);
  const packed = await home.run('pack', 'run');
  assert.equal(packed.exitCode, 0, packed.stderr);
  const digest = sha256(readFileSync(home.path('fixture-1.tar')));
  assert.match(packed.stdout, new RegExp(`fixture-1\\.tar\n.* bytes\\), \\d+ files\nsha256 ${digest}\n$`));
  assert.match(packed.stderr, /signed by SHA256:\S+\n\(UNKNOWN SIGNER/);

  const verified = await home.run('verify', 'fixture-1.tar');
  assert.equal(verified.exitCode, 0, verified.stderr);
  assert.match(verified.stdout, /^verified fixture-1\.tar\n/);
  const reported = await home.run('report', 'fixture-1.tar', '--format', 'markdown');
  assert.equal(reported.stdout, (await home.run('report', 'run', '--format', 'markdown')).stdout);
  assert.match(reported.stdout, /^### fixture: Fixture\n/);
  assert.deepEqual(readdirSync(home.path('tmp')), []);

  const unpacked = await home.run('unpack', 'fixture-1.tar', '--json');
  assert.equal(unpacked.exitCode, 0, unpacked.stderr);
  const { verified: holds, run, archive } = JSON.parse(unpacked.stdout);
  assert.deepEqual([holds, run, archive.sha256], [true, 'fixture-1', digest]);
  assert.equal((await home.run('verify', 'fixture-1')).exitCode, 0);
  assert.equal((await home.run('unpack', 'fixture-1.tar')).exitCode, 64);
  assert.equal(
    (await home.run('unpack', 'fixture-1.tar', '--out', 'x', '--key', 'SHA256:wrong')).exitCode,
    64,
  );
  assert.ok(!existsSync(home.path('x')));
});

test('is not written into the run folder, which one file more would make invalid', async (t) => {
  const home = await sealedRun(t);
  const refused = await home.run('pack', 'run', '--out', 'run/x.tar');
  assert.equal(refused.exitCode, 64, refused.stderr);
  assert.match(refused.stderr, /inside of the run folder/);
  assert.equal(existsSync(home.path('run', 'x.tar')), false);
});

test('names the archive that was given where a run folder or another file is needed, and what to do instead', async (t) => {
  const home = await sealedRun(t);
  await home.run('pack', 'run', '--out', 'the run.tar');
  const bytes = readFileSync(home.path('the run.tar'));
  const over = await home.run('report', 'the run.tar', '--out', 'the run.tar');
  assert.equal(over.exitCode, 64, over.stderr);
  assert.match(over.stderr, /the run\.tar is the run that is read\n {2}next: .* name another file\./);
  assert.doesNotMatch(over.stderr, /inside of/);
  for (const command of ['pack', 'resume']) {
    const again = await home.run(command, 'the run.tar');
    assert.equal(again.exitCode, 64, again.stderr);
    assert.match(again.stderr, /the run\.tar is a file, and this takes a run folder/);
    assert.match(
      again.stderr,
      /next: An archive is .* packed already.*: qualify unpack '[^']*the run\.tar'\n/,
    );
  }
  assert.deepEqual(readFileSync(home.path('the run.tar')), bytes);
});

test('says that an archive does not hold with 16, and leaves nothing', async (t) => {
  const home = await sealedRun(t);
  await home.run('pack', 'run', '--out', 'a.tar', '--json');
  const names = readdirSync(home.folder);
  const { exitCode, stdout, stderr } = await home.run('unpack', 'run/plan.json', '--out', 'x');
  assert.deepEqual([exitCode, stdout], [16, '']);
  assert.match(stderr, /run\/plan\.json is no archive of a run/);
  assert.equal((await home.run('verify', 'run/plan.json')).exitCode, 16);
  assert.deepEqual(readdirSync(home.folder), names);
});

for (const signal of ['SIGKILL', 'SIGINT', 'SIGTERM'] as const) {
  test(`leaves nothing when ${signal} ends it while it unpacks`, async (t) => {
    const home = await sealedRun(t);
    assert.equal((await home.run('pack', 'run', '--out', 'a.tar')).exitCode, 0);
    const names = readdirSync(home.folder);
    const scratch = (): string[] =>
      readdirSync(home.folder).filter((name) => name.startsWith('.qualify-unpack-'));
    const { child, stderr, finished } = home.start(['unpack', 'a.tar', '--out', 'x'], {
      environment: { NODE_OPTIONS: `--import ${STOP_AT_FILE}`, STOP_AT: '3' },
    });
    const isStopped = (): boolean => stderr().includes('stopped before a new file');
    await eventually(() => isStopped() || child.exitCode !== null, 'it has stopped');
    assert.ok(isStopped(), stderr());
    const [folder = ''] = scratch();
    assert.equal(
      readdirSync(home.path(folder), { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      ).length,
      2,
    );
    child.kill(signal);
    const { signal: endedBy } = await finished;
    assert.equal(endedBy, signal);
    await eventually(() => scratch().length === 0, 'the guard has woken up and removed what was unpacked');
    assert.deepEqual(readdirSync(home.folder), names);
  });
}
