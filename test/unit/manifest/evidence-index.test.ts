import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import {
  checkClosedSet,
  parseIndex,
  readListed,
  readRegular,
  writeEvidenceIndex,
} from '../../../src/manifest/evidence-index.js';
import { scratchFolder } from '../../support/folder.js';

const digest = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

async function fill(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** Names whose order differs between locales, and between folders first and paths first. */
const files = {
  'plan.json': '{}',
  'B.txt': '',
  'a.txt': 'a',
  'a/b': 'x',
  'a-b': 'y',
  'evidence/requests/r00-0-base/0-401_512-sample-0.json': '[1]',
  'evidence/requests/r00-0-base/0-401+16.json': '[2]',
  'evidence/requests/_x': 'z',
};
const unlisted = {
  'evidence.sha256': 'stale',
  'qualification.intoto.jsonl': 'x',
  'qualification.intoto.jsonl.sig': 'x',
  'qualification.sigstore.json': 'x',
  'key.pub.pem': 'x',
};

test('writes what find, sort and sha256sum print', async (context) => {
  const folder = await scratchFolder(context);
  await fill(folder, { ...files, ...unlisted });
  await writeEvidenceIndex(folder);
  const others = Object.keys(unlisted).map((name) => `! -name ${name}`);
  const pipeline = `find . -type f ${others.join(' ')} | cut -c3- | LC_ALL=C sort | xargs sha256sum`;
  const printed = execFileSync('sh', ['-c', pipeline], { cwd: folder, encoding: 'utf8' });
  assert.equal(await readFile(join(folder, 'evidence.sha256'), 'utf8'), printed);
  execFileSync('sha256sum', ['--strict', '--quiet', '-c', 'evidence.sha256'], { cwd: folder });
});

test('checks the set that it wrote, and sums its bytes', async (context) => {
  const folder = await scratchFolder(context);
  await fill(folder, files);
  const index = await writeEvidenceIndex(folder);
  assert.deepEqual([...parseIndex(await readFile(join(folder, 'evidence.sha256'), 'utf8'))], [...index]);
  assert.equal(await checkClosedSet(folder, index), Object.values(files).join('').length);
});

test('leaves no folder with nothing in it, as a session that was killed may have made', async (context) => {
  const folder = await scratchFolder(context);
  await fill(folder, files);
  await mkdir(join(folder, 'evidence/requests/r01-0-base/deeper'), { recursive: true });
  const index = await writeEvidenceIndex(folder);
  await assert.rejects(readdir(join(folder, 'evidence/requests/r01-0-base')), { code: 'ENOENT' });
  await checkClosedSet(folder, index);
  await mkdir(join(folder, 'evidence/requests/later'));
  await assert.rejects(
    checkClosedSet(folder, index),
    /evidence\/requests\/later is a folder with nothing in it/,
  );
});

for (const name of ['a b', 'a\nb', "a'b", 'a"b', 'a\\b', '-a', '.a', 'a/.b', 'ü', 'a'.repeat(256)]) {
  test(`refuses to index a file named ${JSON.stringify(name).slice(0, 20)}`, async (context) => {
    const folder = await scratchFolder(context);
    // Some systems bear no such long name; nothing can be listed there then.
    if (name.length > 255) return assert.throws(() => parseIndex(`${digest}  ${name}\n`));
    await fill(folder, { [name]: '' });
    await assert.rejects(writeEvidenceIndex(folder), /name that no run writes/);
  });
}

test('refuses to index a link', async (context) => {
  const folder = await scratchFolder(context);
  await symlink('/etc/hostname', join(folder, 'link'));
  await assert.rejects(writeEvidenceIndex(folder), /link is not a plain file/);
});

for (const [what, text] of [
  ['a path that leaves the folder', `${digest}  ../x\n`],
  ['a path that leaves the folder later', `${digest}  a/../../x\n`],
  ['an absolute path', `${digest}  /etc/passwd\n`],
  ['an empty segment', `${digest}  a//b\n`],
  ['the index itself', `${digest}  evidence.sha256\n`],
  ['the manifest', `${digest}  qualification.intoto.jsonl\n`],
  ['the manifest in capitals', `${digest}  QUALIFICATION.intoto.jsonl\n`],
  ['the index in capitals', `${digest}  Evidence.sha256\n`],
  ['a file below eight folders', `${digest}  ${'a/'.repeat(8)}a\n`],
  ['a binary-mode line', `${digest} *a\n`],
  ['an upper-case digest', `${digest.toUpperCase()}  a\n`],
  ['a short digest', `${digest.slice(1)}  a\n`],
  ['an escaped line', `\\${digest}  a\n`],
  ['an empty line', `${digest}  a\n\n`],
  ['a path twice', `${digest}  a\n${digest}  a\n`],
  ['lines out of order', `${digest}  b\n${digest}  a\n`],
  ['a cut last line', `${digest}  a`],
] as const) {
  test(`refuses an index with ${what}`, () => {
    assert.throws(() => parseIndex(text), /^QualifyError: evidence\.sha256 /);
  });
}

test('takes a file below seven folders', () => {
  assert.equal(parseIndex(`${digest}  ${'a/'.repeat(7)}a\n`).size, 1);
});

test('reads no link and no folder', async (context) => {
  const folder = await scratchFolder(context);
  await fill(folder, { file: '1', 'folder/file': '2' });
  await symlink('file', join(folder, 'link'));
  assert.equal((await readRegular(folder, 'file')).toString(), '1');
  for (const path of ['link', 'folder']) await assert.rejects(readRegular(folder, path), /plain file/);
});

test('reads listed files only, and only with their digest', async (context) => {
  const folder = await scratchFolder(context);
  await fill(folder, { a: '1', b: '2' });
  const index = await writeEvidenceIndex(folder);
  assert.equal((await readListed(folder, index, 'a')).toString(), '1');
  await writeFile(join(folder, 'a'), '3');
  await assert.rejects(readListed(folder, index, 'a'), /changed while it was checked/);
  await assert.rejects(readListed(folder, index, '../a'), /not listed/);
});
