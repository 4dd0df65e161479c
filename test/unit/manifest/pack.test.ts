/** One run has one archive, wherever and by whom it is packed, and the archive is all of the run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, link, mkdir, readFile, rename, rm, rmdir, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sha256 } from '../../../src/digest.js';
import { encodeHeader } from '../../../src/manifest/archive-format.js';
import { listFiles } from '../../../src/manifest/evidence-index.js';
import { generateKey } from '../../../src/manifest/key-store.js';
import { type PackedRun, packRun } from '../../../src/manifest/pack.js';
import { seal } from '../../../src/manifest/seal.js';
import { unpackRun, withRunFolder } from '../../../src/manifest/unpack.js';
import { verifyRun } from '../../../src/manifest/verify.js';
import { importWithout } from '../../attacks/without-guard.js';
import { archiveOf } from '../../fixtures/archive.js';
import { writeRun } from '../../fixtures/run-folder.js';
import { scratchFolder } from '../../support/folder.js';
import { refusal } from '../../support/refusal.js';

async function sealedRun(t: TestContext): Promise<{ folder: string; run: string }> {
  const folder = await scratchFolder(t);
  const run = join(folder, 'run');
  await writeRun(run);
  await seal(run, await generateKey('signer', join(folder, 'keys')));
  return { folder, run };
}

const UNLISTED = [
  ...['evidence.sha256', 'key.pub.pem', 'qualification.intoto.jsonl'],
  ...['qualification.intoto.jsonl.sig', 'qualification.sigstore.json'],
];

const scratchNames = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('qualify-unpack-'));

test('the same run gives the same bytes: other times, modes, order on the disk, hard links, umask', async (t) => {
  const { folder, run } = await sealedRun(t);
  const first = await packRun(run, { out: join(folder, 'first.tar') });
  assert.equal(first.sha256, sha256(readFileSync(first.path)));
  assert.equal(first.sizeBytes, readFileSync(first.path).length);

  const other = join(folder, 'other');
  const names = await listFiles(run);
  for (const name of names.toReversed()) {
    const path = join(other, name);
    await cp(join(run, name), path);
    await utimes(path, 1, 1);
    await chmod(path, 0o600);
  }
  await link(join(other, 'plan.json'), join(folder, 'another-name-of-the-plan'));
  const before = process.umask(0o077);
  const second = await packRun(other, { out: join(folder, 'second.tar') }).finally(() =>
    process.umask(before),
  );
  assert.deepEqual(readFileSync(second.path), readFileSync(first.path));
  assert.equal(first.files, names.length);
});

test('what was unpacked is the run, and packs to the same bytes', async (t) => {
  const { folder, run } = await sealedRun(t);
  const { path } = await packRun(run, { out: join(folder, 'run.tar') });
  const out = join(folder, 'unpacked');
  const { sha256: digest, session } = await unpackRun(path, { out });
  assert.deepEqual([digest, session], [sha256(readFileSync(path)), 'fixture-1']);
  assert.deepEqual(await listFiles(out), await listFiles(run));
  for (const name of await listFiles(run))
    assert.deepEqual(readFileSync(join(out, name)), readFileSync(join(run, name)), name);
  const again = await packRun(out, { out: join(folder, 'again.tar') });
  assert.deepEqual(readFileSync(again.path), readFileSync(path));
});

test('tar reads it', async (t) => {
  const { folder, run } = await sealedRun(t);
  const { path } = await packRun(run, { out: join(folder, 'run.tar') });
  const tar = spawnSync('tar', ['--extract', '--file', path], { cwd: folder, encoding: 'utf8' });
  assert.deepEqual([tar.status, tar.stderr], [0, '']);
  const { statement } = await verifyRun(join(folder, 'fixture-1'));
  assert.equal(statement.predicate.session, 'fixture-1');
});

test('what does not hold, is not finished, or is too much is not packed, and nothing is left', async (t) => {
  const { folder, run } = await sealedRun(t);
  const out = join(folder, 'run.tar');
  const names = readdirSync(folder);
  const limits = { files: 100_000, bytes: 1000 };
  assert.equal((await refusal(packRun(run, { out, limits }))).code, 'ERR_QUALIFY_NOT_PACKABLE');
  const few = { files: 3, bytes: 1e9 };
  assert.equal((await refusal(packRun(run, { out, limits: few }))).code, 'ERR_QUALIFY_NOT_PACKABLE');
  await rename(join(run, 'verdict.json'), join(folder, 'verdict.json'));
  assert.equal((await refusal(packRun(run, { out }))).exit, 'invalid');
  await rename(join(folder, 'verdict.json'), join(run, 'verdict.json'));
  await mkdir(join(run, 'evidence', 'empty'));
  assert.match((await refusal(packRun(run, { out }))).message, /empty is a folder with nothing in it/);
  await rmdir(join(run, 'evidence', 'empty'));
  await writeFile(join(run, 'report.md'), 'all is well');
  assert.match((await refusal(packRun(run, { out }))).message, /report\.md has changed/);
  assert.deepEqual(readdirSync(folder), names);
});

test('what is added or changed once the run was checked does not get in', async (t) => {
  const { folder, run } = await sealedRun(t);
  const names = await listFiles(run);
  /** Packs with something that happens between check and pack. */
  const packAfter = async (happens: string, out: string): Promise<PackedRun> => {
    const { packRun: pack } = await importWithout<typeof import('../../../src/manifest/pack.js')>(
      t,
      'manifest/pack',
      {
        module: 'manifest/pack',
        guard: 'const { session } = record.plan',
        instead: `const { readFileSync, writeFileSync, appendFileSync } = await import('node:fs'); ${happens}; const { session } = record.plan`,
      },
    );
    return pack(run, { out });
  };
  const packed = await packAfter("writeFileSync(runFolder + '/added.txt', 'x')", join(folder, 'run.tar'));
  assert.equal(packed.files, names.length);
  const { runFolder } = await unpackRun(packed.path, { out: join(folder, 'unpacked') });
  assert.deepEqual(await listFiles(runFolder), names);
  await rm(join(run, 'added.txt'));

  // The same evidence by another signer: whole in itself, and not what was checked.
  const { run: theirs } = await sealedRun(t);
  for (const name of names.filter((path) => !path.includes('/'))) {
    const ours = await readFile(join(run, name));
    const swap = `writeFileSync(runFolder + '/${name}', readFileSync('${join(theirs, name)}')); appendFileSync(runFolder + '/${name}', 'x')`;
    const again = packAfter(swap, join(folder, `${name}.tar`));
    // What the index lists is read by it; all else is what was checked already.
    if (UNLISTED.includes(name)) assert.equal((await again).sha256, packed.sha256, name);
    else await assert.rejects(again, /changed while it was checked/, name);
    await writeFile(join(run, name), ours);
  }
});

test('it is written over nothing, and nowhere where nothing can be written', async (t) => {
  const { folder, run } = await sealedRun(t);
  const out = join(folder, 'run.tar');
  await writeFile(out, 'mine');
  assert.equal((await refusal(packRun(run, { out }))).code, 'ERR_QUALIFY_EXISTS');
  assert.equal(readFileSync(out, 'utf8'), 'mine');
  const nowhere = await refusal(packRun(run, { out: join(folder, 'no', 'run.tar') }));
  assert.deepEqual([nowhere.code, nowhere.exit], ['ERR_QUALIFY_UNWRITABLE', 'infrastructure']);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes('partial')),
    [],
  );
});

test('names that no header holds are found out', () => {
  assert.ok(encodeHeader(`session-1/evidence/${'a'.repeat(64)}/${'b'.repeat(90)}`, 1));
  assert.equal(encodeHeader(`session-1/${'b'.repeat(101)}`, 1), null);
  assert.equal(encodeHeader('session-1/a', 8 * 1024 ** 3), null);
});

test('what is refused in an archive is told of the archive, and not of a folder that is gone', async (t) => {
  const { folder, run } = await sealedRun(t);
  const journal = await readFile(join(run, 'journal.jsonl'));
  const plan = await readFile(join(run, 'plan.json'));
  const unfinished = join(folder, 'unfinished.tar');
  const cut = journal.subarray(0, journal.lastIndexOf('\n', -2) + 1);
  const entries = [
    { name: 'fixture-1/journal.jsonl', body: cut },
    { name: 'fixture-1/plan.json', body: plan },
  ];
  await writeFile(unfinished, archiveOf(...entries));
  for (const refuse of [
    () => unpackRun(unfinished, { out: join(folder, 'out') }),
    () => withRunFolder(unfinished, (place) => verifyRun(place)),
  ]) {
    const { code, message, where, hint } = await refusal(refuse());
    assert.equal(code, 'ERR_QUALIFY_RUN_UNFINISHED');
    assert.equal(message, `${unfinished} is not finished: still running, or its session was killed`);
    assert.equal(where, unfinished);
    assert.match(hint ?? '', /archive of a run that is finished/);
    assert.doesNotMatch(hint ?? '', /qualify-unpack|resume/);
  }
});

test('something can work on an archive as on a folder, and the folder is gone afterwards', async (t) => {
  const { folder, run } = await sealedRun(t);
  const { path } = await packRun(run, { out: join(folder, 'run.tar') });
  const before = scratchNames();
  const seen = await withRunFolder(path, async (place) => {
    await verifyRun(place);
    return place;
  });
  assert.ok(!existsSync(seen));
  await assert.rejects(
    withRunFolder(path, async (place) => {
      assert.ok(existsSync(place));
      throw new Error('it fails');
    }),
    /it fails/,
  );
  assert.deepEqual(scratchNames(), before);
  assert.equal(await withRunFolder(run, async (place) => place), run);
  await rm(path);
  assert.equal((await refusal(withRunFolder(path, (place) => verifyRun(place)))).code, 'ERR_QUALIFY_NO_RUN');
});
